//! The loop of the server: messages of the client, and results of background work.

use super::diagnostics::published;
use super::documents::Document;
use super::jobs::{Event, Jobs};
use super::judge::{JobKind, JobOrder, Mark};
use super::libraries::LibraryFiles;
use super::requests::{Answer, Documents, about_text, capabilities, invalid, open, read, refused, short, written};
use super::transport::{Client, Received, Transport};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::interrupt;
use crate::cli::{CommandContext, Refusal};
use crossbeam::channel::{Receiver, select};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{
    CancelParams, DiagnosticSeverity, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, ExecuteCommandParams, InitializeParams, NumberOrString, PublishDiagnosticsParams, Uri,
    WorkDoneProgressCancelParams,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Maximum number of open files.
const MOST_DOCUMENTS: usize = 1_000;
/// Time after which the loop looks for an interruption.
const TICK: Duration = Duration::from_millis(100);

/// Runs the server until the client says `exit`.
pub(super) fn serve(context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let stop = interrupt::install();
    let transport =
        Transport::start().map_err(|error| Refusal::new(format_args!("no thread for the server: {error}")))?;
    let mut server = Server::new(transport.client());
    let ended = server.run(&transport.from_client, &stop);
    server.jobs.stop_all(|_| true);
    transport.finish();
    match ended {
        Ended::Exit => Ok(ExitStatus::Nothing),
        // The protocol says so: 1 without `shutdown`.
        Ended::Early => Ok(ExitStatus::Found),
        Ended::Interrupted => Ok(ExitStatus::Interrupted),
        Ended::Broken(why) => {
            context.out.error(format_args!("the client does not speak the Language Server Protocol: {why}"));
            Ok(ExitStatus::Refused)
        }
    }
}

// How the connection has ended.
enum Ended {
    // By `exit`, after `shutdown`.
    Exit,
    // Without `shutdown`.
    Early,
    Interrupted,
    Broken(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Fresh,
    Serving,
    ShutDown,
}

// What the client can do.
#[derive(Clone, Copy, Default)]
struct ClientAbilities {
    progress: bool,
    refreshes_hints: bool,
}

struct Server {
    client: Client,
    jobs: Jobs,
    libraries: LibraryFiles,
    documents: Documents,
    phase: Phase,
    abilities: ClientAbilities,
    // Number of texts so far, of requests to the client, and of runs.
    texts: u64,
    asked: u64,
    runs: u64,
}

impl Server {
    fn new(client: Client) -> Self {
        Self {
            jobs: Jobs::new(client.clone()),
            client,
            libraries: LibraryFiles::default(),
            documents: BTreeMap::new(),
            phase: Phase::Fresh,
            abilities: ClientAbilities::default(),
            texts: 0,
            asked: 0,
            runs: 0,
        }
    }

    fn run(&mut self, from_client: &Receiver<Received>, stop: &AtomicBool) -> Ended {
        let results = self.jobs.results.clone();
        while !stop.load(Ordering::Relaxed) {
            // Diagnostics wait until everything that the client has sent is read: only the last text counts.
            if from_client.is_empty() {
                self.refresh();
            }
            select! {
                recv(from_client) -> received => match received {
                    Err(_) => return Ended::Early,
                    Ok(received) => if let Some(ended) = self.received(received) {
                        return ended;
                    },
                },
                recv(results) -> event => if let Ok(event) = event {
                    self.event(event);
                },
                default(TICK) => {}
            }
        }
        Ended::Interrupted
    }

    fn received(&mut self, received: Received) -> Option<Ended> {
        match received {
            Received::Broken(why) => return Some(Ended::Broken(why)),
            Received::Malformed(why) => self.client.refuse_unread(ErrorCode::ParseError as i32, &why),
            Received::Message(message) => match *message {
                Message::Request(request) => self.request(request),
                Message::Notification(Notification { method, .. }) if method == "exit" => {
                    return Some(if self.phase == Phase::ShutDown { Ended::Exit } else { Ended::Early });
                }
                Message::Notification(notification) => self.notification(notification),
                Message::Response(_) => {}
            },
        }
        None
    }

    // Answers a request. A bug of raceflip is an answer as well, and not the end of the server.
    fn request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&id, &method, params)));
        let bug = || Some(Err((ErrorCode::InternalError, "raceflip has a bug: stderr has the report".to_owned())));
        // A command is answered when it ends.
        let Some(answer) = answer.unwrap_or_else(|_| bug()) else { return };
        self.respond(id, answer);
    }

    fn respond(&self, id: RequestId, answer: Answer) {
        match answer {
            Ok(result) => self.client.answer(&id, &result),
            Err((code, message)) => self.client.send(Response::new_err(id, code as i32, message)),
        }
    }

    fn answer(&mut self, id: &RequestId, method: &str, params: Value) -> Option<Answer> {
        Some(match (self.phase, method) {
            (Phase::Fresh, "initialize") => self.initialize(params),
            (Phase::Fresh, _) => Err((ErrorCode::ServerNotInitialized, "the first request is `initialize`".to_owned())),
            (Phase::ShutDown, _) => Err((ErrorCode::InvalidRequest, "the server was shut down".to_owned())),
            (Phase::Serving, "shutdown") => {
                self.phase = Phase::ShutDown;
                self.jobs.stop_all(|_| true);
                written(Value::Null)
            }
            (Phase::Serving, "workspace/executeCommand") => match self.execute(id, params) {
                Ok(()) => return None,
                Err(error) => Err(error),
            },
            (Phase::Serving, _) => about_text(&mut self.documents, &mut self.libraries, method, params),
        })
    }

    fn initialize(&mut self, params: Value) -> Answer {
        let params: InitializeParams = read(params)?;
        let window = params.capabilities.window.as_ref();
        let workspace = params.capabilities.workspace.as_ref();
        self.abilities = ClientAbilities {
            progress: window.and_then(|window| window.work_done_progress).unwrap_or(false),
            refreshes_hints: workspace
                .and_then(|workspace| workspace.inlay_hint.as_ref()?.refresh_support)
                .unwrap_or(false),
        };
        self.phase = Phase::Serving;
        let about = json!({ "name": "raceflip", "version": env!("CARGO_PKG_VERSION") });
        written(json!({ "capabilities": capabilities(), "serverInfo": about }))
    }

    fn open(&mut self, uri: &Uri) -> Result<&mut Document, (ErrorCode, String)> {
        open(&mut self.documents, uri)
    }

    // Starts a command. Its request is answered when it ends.
    fn execute(&mut self, id: &RequestId, params: Value) -> Result<(), (ErrorCode, String)> {
        let ExecuteCommandParams { command, arguments, work_done_progress_params } = read(params)?;
        let unknown = || invalid(format!("unknown command `{}`", short(&command)));
        let kind = JobKind::from_command(&command).ok_or_else(unknown)?;
        let argument =
            arguments.into_iter().next().ok_or_else(|| invalid("the command needs an argument".to_owned()))?;
        let CommandArgument { uri, line, seed } = read(argument)?;
        if kind == JobKind::Run {
            self.runs += 1;
        }
        let seed = seed.unwrap_or(self.runs.saturating_sub(1));
        let document = self.open(&uri)?;
        let text = document.number;
        let analysis = document.known().analysis.as_ref().map_err(|error| refused(error.to_string()))?;
        if let Some(error) = analysis.errors().first() {
            let place = analysis.source().place(error.span.start);
            let message = format!("the model has errors: {} ({}:{})", error.message, place.line, place.column);
            return Err(refused(message));
        }
        let order = JobOrder { kind, source: analysis.source().clone(), line, seed };
        let progress = (work_done_progress_params.work_done_token, self.abilities.progress);
        self.jobs.start(order, (id.clone(), text), progress).map_err(refused)
    }

    fn notification(&mut self, notification: Notification) {
        if self.phase != Phase::Serving {
            return;
        }
        let Notification { method, params } = notification;
        // A notification has no answer, so that one which cannot be read has no effect.
        match method.as_str() {
            "textDocument/didOpen" => {
                let Ok(DidOpenTextDocumentParams { text_document: item }) = serde_json::from_value(params) else {
                    return;
                };
                self.texts += 1;
                let key = item.uri.as_str().to_owned();
                if self.documents.len() < MOST_DOCUMENTS || self.documents.contains_key(&key) {
                    self.documents.insert(key, Document::new(item.uri, item.version, item.text, self.texts));
                }
            }
            "textDocument/didChange" => {
                let Ok(DidChangeTextDocumentParams { text_document, content_changes }) = serde_json::from_value(params)
                else {
                    return;
                };
                self.texts += 1;
                if let Some(document) = self.documents.get_mut(text_document.uri.as_str()) {
                    document.change(text_document.version, content_changes, self.texts);
                }
            }
            "textDocument/didClose" => {
                let Ok(DidCloseTextDocumentParams { text_document }) = serde_json::from_value(params) else { return };
                if self.documents.remove(text_document.uri.as_str()).is_some() {
                    let nothing =
                        PublishDiagnosticsParams { uri: text_document.uri, diagnostics: Vec::new(), version: None };
                    self.publish(&nothing);
                }
            }
            "$/cancelRequest" => {
                let Ok(CancelParams { id }) = serde_json::from_value(params) else { return };
                self.jobs.cancel_request(&match id {
                    NumberOrString::Number(number) => RequestId::from(number),
                    NumberOrString::String(text) => RequestId::from(text),
                });
            }
            "window/workDoneProgress/cancel" => {
                let Ok(WorkDoneProgressCancelParams { token }) = serde_json::from_value(params) else { return };
                self.jobs.cancel_token(&token);
            }
            _ => {}
        }
    }

    // Analyzes the texts that have changed. Errors are published at once; without errors the warnings follow, and until
    // then only what does not hold any more is withdrawn.
    fn refresh(&mut self) {
        let stale: Vec<String> =
            self.documents.iter().filter(|(_, document)| document.is_stale).map(|(key, _)| key.clone()).collect();
        for key in stale {
            let Some(document) = self.documents.get_mut(&key) else { continue };
            document.is_stale = false;
            let analyzed = catch_unwind(AssertUnwindSafe(|| {
                let known = document.known();
                let valid = known.analysis.as_ref().ok().filter(|analysis| analysis.errors().is_empty());
                valid.map(|analysis| analysis.source().clone())
            }));
            match analyzed {
                Ok(Some(source)) => {
                    let withdraws = std::mem::take(&mut document.shows_errors);
                    self.jobs.warn(document.number, source);
                    if withdraws {
                        self.publish_document(&key);
                    }
                }
                Ok(None) => self.publish_document(&key),
                // The panic hook has reported the bug on stderr. The next text may be analyzed without it.
                Err(_) => {}
            }
        }
    }

    fn publish_document(&mut self, key: &str) {
        let Self { documents, libraries, .. } = self;
        let Some(document) = documents.get_mut(key) else { return };
        let params = published(document, libraries);
        document.shows_errors = params.diagnostics.iter().any(|one| one.severity != Some(DiagnosticSeverity::WARNING));
        self.publish(&params);
    }

    fn publish(&self, params: &PublishDiagnosticsParams) {
        self.client.send(Notification::new("textDocument/publishDiagnostics".to_owned(), params));
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Late(text, late) => {
                if let Some(key) = self.key_of(text) {
                    self.documents.entry(key.clone()).and_modify(|document| document.late = Some(late));
                    self.publish_document(&key);
                }
            }
            Event::Done(number, judged) => self.done(number, judged),
        }
    }

    // The file whose text has this number still.
    fn key_of(&self, text: u64) -> Option<String> {
        self.documents.iter().find(|(_, document)| document.number == text).map(|(key, _)| key.clone())
    }

    // Shows the verdicts of a command, and answers its request.
    fn done(&mut self, number: u64, judged: Result<Vec<Mark>, String>) {
        let Some(job) = self.jobs.finished(number) else { return };
        if job.is_cancelled() {
            return self
                .respond(job.request, Err((ErrorCode::RequestCanceled, "the command was cancelled".to_owned())));
        }
        let marks = match judged {
            Ok(marks) => marks,
            Err(why) => return self.respond(job.request, Err(refused(why))),
        };
        let verdicts: Vec<Value> =
            marks.iter().map(|mark| json!({ "line": mark.line, "text": mark.text, "detail": mark.detail })).collect();
        if let Some(key) = self.key_of(job.text) {
            self.documents.entry(key.clone()).and_modify(|document| document.judge(marks));
            self.publish_document(&key);
            if self.abilities.refreshes_hints {
                self.asked += 1;
                let id = RequestId::from(format!("refresh-{}", self.asked));
                self.client.send(Request::new(id, "workspace/inlayHint/refresh".to_owned(), Value::Null));
            }
        }
        self.respond(job.request, written(json!({ "verdicts": verdicts })));
    }
}

/// The argument of a command.
#[derive(Deserialize)]
struct CommandArgument {
    uri: Uri,
    // The `expect` line to judge, from 1.
    line: Option<u32>,
    // The seed of a run. Without it each run has the next one.
    seed: Option<u64>,
}
