//! Work in the background: commands, each in a thread of its own, with progress and a flag that stops it; and one
//! thread for the warnings of texts, which take longer than a key.

use super::documents::Late;
use super::judge::{JobOrder, Mark, judge};
use super::transport::Client;
use crate::campaign::{CampaignContext, CampaignProgress};
use crate::cli::io::load;
use crate::explore::{SearchProgress, SearchStatus};
use crate::lang::Source;
use crate::vm::{Model, ModelError};
use crossbeam::channel::{Receiver, Sender, unbounded};
use lsp_server::{Notification, Request, RequestId};
use lsp_types::{
    NumberOrString, ProgressParams, ProgressParamsValue, ProgressToken, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Maximum number of commands at once.
const MOST_JOBS: usize = 4;
/// Least time between two reports of progress.
const BETWEEN_REPORTS: Duration = Duration::from_millis(100);
/// What is said after a panic of a command. The panic hook has reported it on stderr.
const BUG: &str = "raceflip has a bug: stderr has the report";

/// A result of work in the background.
pub(super) enum Event {
    /// The warnings of the text with this number.
    Late(u64, Late),
    /// The end of a command.
    Done(u64, Result<Vec<Mark>, String>),
}

/// A command that runs.
pub(super) struct Job {
    /// The request that has started it, and that waits for its end.
    pub(super) request: RequestId,
    /// Number of the text that it is about.
    pub(super) text: u64,
    token: ProgressToken,
    stop: Arc<AtomicBool>,
}

impl Job {
    /// Returns whether the client has cancelled the command.
    pub(super) fn is_cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// All work in the background.
pub(super) struct Jobs {
    client: Client,
    events: Sender<Event>,
    /// Results, as they come.
    pub(super) results: Receiver<Event>,
    texts: Option<Sender<(u64, Source)>>,
    running: BTreeMap<u64, Job>,
    begun: u64,
}

impl Jobs {
    pub(super) fn new(client: Client) -> Self {
        let (events, results) = unbounded();
        let texts = warner(events.clone());
        Self { client, events, results, texts, running: BTreeMap::new(), begun: 0 }
    }

    /// Asks for the warnings of a text without errors.
    pub(super) fn warn(&self, number: u64, source: Source) {
        if let Some(texts) = &self.texts {
            // The thread lives as long as this sender.
            texts.send((number, source)).ok();
        }
    }

    /// Starts a command. With `creates` the client is asked to show its progress, unless `token` says where it does.
    pub(super) fn start(
        &mut self,
        order: JobOrder,
        (request, text): (RequestId, u64),
        (token, creates): (Option<ProgressToken>, bool),
    ) -> Result<(), String> {
        if self.running.len() >= MOST_JOBS {
            return Err(format!("{MOST_JOBS} commands run already: wait for one, or cancel one"));
        }
        self.begun += 1;
        let number = self.begun;
        let shows = token.is_some() || creates;
        let own = NumberOrString::String(format!("raceflip-{number}"));
        let creates = token.is_none() && creates;
        let token = token.unwrap_or(own.clone());
        let stop = Arc::new(AtomicBool::new(false));
        if creates {
            let params = WorkDoneProgressCreateParams { token: token.clone() };
            let id = RequestId::from(format!("progress-{number}"));
            self.client.send(Request::new(id, "window/workDoneProgress/create".to_owned(), params));
        }
        let progress = JobProgress {
            client: self.client.clone(),
            token: token.clone(),
            shows,
            done: AtomicU64::new(0),
            state: Mutex::new(ProgressState { phase: String::new(), runs: 0, last: Instant::now() }),
        };
        let (events, stopped) = (self.events.clone(), stop.clone());
        let work = move || {
            progress.begin(&format!("raceflip {}", order.kind.word()));
            let context = CampaignContext { stop: &stopped, progress: &progress };
            let judged = catch_unwind(AssertUnwindSafe(|| judge(&order, context, &progress)));
            progress.end();
            events.send(Event::Done(number, judged.unwrap_or_else(|_| Err(BUG.to_owned())))).ok();
        };
        let spawned = Builder::new().name("lsp command".into()).spawn(work);
        spawned.map_err(|error| format!("no thread for the command: {error}"))?;
        self.running.insert(number, Job { request, text, token, stop });
        Ok(())
    }

    /// Stops a command by the number of its request.
    pub(super) fn cancel_request(&self, request: &RequestId) {
        self.stop_all(|job| job.request == *request);
    }

    /// Stops a command by the token of its progress.
    pub(super) fn cancel_token(&self, token: &ProgressToken) {
        self.stop_all(|job| job.token == *token);
    }

    /// Stops the commands that `which` selects.
    pub(super) fn stop_all(&self, which: impl Fn(&Job) -> bool) {
        self.running.values().filter(|job| which(job)).for_each(|job| job.stop.store(true, Ordering::Relaxed));
    }

    /// Removes a command that has ended.
    pub(super) fn finished(&mut self, number: u64) -> Option<Job> {
        self.running.remove(&number)
    }
}

// Starts the thread that finds warnings. Without it there are none.
fn warner(events: Sender<Event>) -> Option<Sender<(u64, Source)>> {
    let (texts, asked) = unbounded::<(u64, Source)>();
    let work = move || {
        while let Ok(first) = asked.recv() {
            // Only the last text of each file counts.
            let mut last = BTreeMap::from([(first.1.name().to_owned(), first)]);
            last.extend(asked.try_iter().map(|next| (next.1.name().to_owned(), next)));
            for (number, source) in last.into_values() {
                let found = catch_unwind(AssertUnwindSafe(|| late(source)));
                let late = found.unwrap_or_else(|_| Late::Refused(BUG.to_owned()));
                if events.send(Event::Late(number, late)).is_err() {
                    return;
                }
            }
        }
    };
    Builder::new().name("lsp warnings".into()).spawn(work).ok().map(|_| texts)
}

fn late(source: Source) -> Late {
    match Model::from_source(source, &[]) {
        Ok(model) => Late::Warnings(load::warnings_of(&model)),
        Err(ModelError::Errors(..)) => Late::Warnings(Vec::new()),
        Err(error) => Late::Refused(error.to_string()),
    }
}

/// Sends the progress of a command to the client.
struct JobProgress {
    client: Client,
    token: ProgressToken,
    // Whether the client shows progress.
    shows: bool,
    done: AtomicU64,
    state: Mutex<ProgressState>,
}

struct ProgressState {
    phase: String,
    runs: u64,
    last: Instant,
}

impl JobProgress {
    fn send(&self, progress: WorkDoneProgress) {
        if self.shows {
            let value = ProgressParamsValue::WorkDone(progress);
            let params = ProgressParams { token: self.token.clone(), value };
            self.client.send(Notification::new("$/progress".to_owned(), params));
        }
    }

    fn begin(&self, title: &str) {
        self.send(WorkDoneProgress::Begin(WorkDoneProgressBegin {
            title: title.to_owned(),
            cancellable: Some(true),
            message: None,
            percentage: None,
        }));
    }

    fn end(&self) {
        self.send(WorkDoneProgress::End(WorkDoneProgressEnd { message: None }));
    }

    // Sends a message, unless one was sent a moment ago.
    fn report(&self, message: impl FnOnce(&ProgressState) -> String) {
        // Another worker reports if the state is taken.
        let Some(mut state) = self.state.try_lock() else { return };
        if state.last.elapsed() >= BETWEEN_REPORTS {
            state.last = Instant::now();
            let message = Some(message(&state));
            self.send(WorkDoneProgress::Report(WorkDoneProgressReport {
                cancellable: Some(true),
                message,
                percentage: None,
            }));
        }
    }
}

impl CampaignProgress for JobProgress {
    fn phase(&self, name: &str, runs: u64) {
        self.done.store(0, Ordering::Relaxed);
        let mut state = self.state.lock();
        (state.phase, state.runs) = (name.to_owned(), runs);
    }

    fn done(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.report(|state| match state.runs {
            0 => format!("{} {done}", state.phase).trim().to_owned(),
            runs => format!("{} {done} of {runs}", state.phase),
        });
    }
}

impl SearchProgress for JobProgress {
    fn at(&self, status: &SearchStatus) {
        self.report(|_| format!("{} states", status.states));
    }
}
