//! raceflip: a controlled-scheduling race fuzzer for modeled apps.
//!
//! A *model* is a short text that describes the concurrency of an app: its threads and loopers (event loops), the
//! messages that they post, the memory that they share, and the properties that must hold. raceflip runs the model
//! under a scheduler of its own. It detects pairs of accesses that may race, forces both orders of each pair, and
//! reports which pairs are real and which ones are harmful. Each reported run has a token, which replays the run
//! exactly.
//!
//! The program `raceflip` is a thin layer over this library. This page is a tour of the library in small steps. Each
//! example can be copied and run.
//!
//! 1. [A model](#1-a-model)
//! 2. [A run](#2-a-run)
//! 3. [The outcome](#3-the-outcome)
//! 4. [Record and replay](#4-record-and-replay)
//! 5. [A token](#5-a-token)
//! 6. [Potential races](#6-potential-races)
//! 7. [Real races](#7-real-races)
//! 8. [What a model expects](#8-what-a-model-expects)
//! 9. [A strategy of one's own](#9-a-strategy-of-ones-own)
//! 10. [An observer of one's own](#10-an-observer-of-ones-own)
//!
//! # 1. A model
//!
//! An app starts and requests a service from the system, which answers later. Meanwhile the user opens a menu, which
//! uses the service. Both tasks run on the main looper, and nothing orders them. The model is `docs/menu.race`;
//! `docs/language.md` and `docs/language_more.md` describe the language.
//!
//! ```text
#![doc = include_str!("../docs/menu.race")]
//! ```
//!
//! [`vm::Model`] loads it: it parses, checks and compiles a text. An error is reported as a compiler reports it, with
//! the line and a caret.
//!
//! ```
//! use raceflip::vm::Model;
//!
//! let text = std::fs::read_to_string("docs/menu.race")?;
//! let model = Model::from_text("menu.race", &text, &[])?;
//! assert_eq!(model.program.title, "menu");
//!
//! // The repaired app: a constant with another value, `-D FIXED=1` of the command line.
//! let repaired = Model::from_text("menu.race", &text, &[("FIXED".to_owned(), 1)])?;
//! assert_ne!(repaired.digest(), model.digest());
//!
//! let error = Model::from_text("bad.race", "var x = 0\nthread t { x = 1 + y }", &[]).unwrap_err();
//! println!("{error}");
//! # assert!(error.to_string().contains("unknown name `y`"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 2. A run
//!
//! A [`world::Machine`] executes a model. [`exec::run`] performs one run: at each step it asks a *strategy* for one of
//! the open choices. [`sched::RandomWalk`] draws them from a seed. A seed gives the same run on every computer.
//!
//! ```
//! use raceflip::exec::{NoObserver, run};
//! use raceflip::sched::RandomWalk;
//! use raceflip::world::Limits;
//! use std::sync::atomic::AtomicBool;
//! # use raceflip::vm::Model;
//! # let model = Model::from_text("menu.race", &std::fs::read_to_string("docs/menu.race")?, &[])?;
//!
//! // Another thread may set it, to interrupt a run.
//! let stop = AtomicBool::new(false);
//! let mut machine = model.machine(Limits::default());
//! let mut go = |seed| run(&mut machine, &mut RandomWalk::new(), seed, &mut NoObserver, &stop);
//! let summary = go(1);
//! assert!(summary.steps > 5);
//! // The machine is used again; nothing is left over from the run before.
//! assert_eq!(go(1), summary);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 3. The outcome
//!
//! A failure of the app is a value, an [`event::Outcome`]; nothing panics. A run also detects deadlocks, and messages
//! that can never run. A run that reaches one of its [`world::Limits`] ends with that limit as its outcome. So the
//! search for a failing run is a loop over seeds:
//!
//! ```
//! use raceflip::event::Outcome;
//! # use raceflip::{exec::{NoObserver, run}, sched::RandomWalk, vm::Model, world::Limits};
//! # use std::sync::atomic::AtomicBool;
//! # let model = Model::from_text("menu.race", &std::fs::read_to_string("docs/menu.race")?, &[])?;
//! # let stop = AtomicBool::new(false);
//! # let mut machine = model.machine(Limits::default());
//! # let mut go = |seed| run(&mut machine, &mut RandomWalk::new(), seed, &mut NoObserver, &stop);
//!
//! let failing = (0..100).find_map(|seed| match go(seed).outcome() {
//!     Some(Outcome::Failure(failure)) => Some((seed, failure.clone())),
//!     _ => None,
//! });
//! let (seed, failure) = failing.expect("the menu comes too early in most runs");
//! assert_eq!(failure.name, "NullPointer");
//! let site = &model.program.sites[failure.site.expect("it stands somewhere")];
//! assert_eq!(site.label.as_deref(), Some("B"));
//! println!("seed {seed}: {} in line {}", failure.name, site.line);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 4. Record and replay
//!
//! A seed means the same run only as long as model and strategy do not change. A [`sched::Schedule`] stores choices by
//! name, so it survives edits elsewhere in the model. [`sched::ScheduleRecorder`] is an observer that records the
//! choices of any strategy; [`sched::Replay`] is the strategy that repeats them.
//!
//! ```
//! use raceflip::sched::{ScheduleRecorder, Replay};
//! use std::sync::Arc;
//! # use raceflip::{exec::{NoObserver, run}, sched::RandomWalk, vm::Model, world::Limits};
//! # use std::sync::atomic::AtomicBool;
//! # let model = Model::from_text("menu.race", &std::fs::read_to_string("docs/menu.race")?, &[])?;
//! # let stop = AtomicBool::new(false);
//! # let mut machine = model.machine(Limits::default());
//!
//! let mut recorder = ScheduleRecorder::new();
//! let drawn = run(&mut machine, &mut RandomWalk::new(), 7, &mut recorder, &stop);
//! let schedule = recorder.schedule(&machine.world);
//!
//! // The seed does not matter to a replay.
//! let mut replay = Replay::new(Arc::new(schedule));
//! let again = run(&mut machine, &mut replay, 0, &mut NoObserver, &stop);
//! assert_eq!(again, drawn);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! If a choice does not fit, the run ends as [`exec::LoopEnd::Diverged`]: a replay never guesses. ([`sched::Tolerant`]
//! does, and counts how often.)
//!
//! # 5. A token
//!
//! A [`token::Token`] is a schedule with everything that is needed to replay the run elsewhere, as one word that can be
//! mailed or stored in a file. `raceflip replay` takes a token.
//!
//! ```
//! use raceflip::token::Token;
//! use raceflip::world::signature;
//! # use raceflip::{exec::{NoObserver, run}, sched::{RandomWalk, ScheduleRecorder, Replay}, vm::Model, world::Limits};
//! # use std::sync::{Arc, atomic::AtomicBool};
//! # let text = std::fs::read_to_string("docs/menu.race")?;
//! # let model = Model::from_text("menu.race", &text, &[])?;
//! # let stop = AtomicBool::new(false);
//! # let mut machine = model.machine(Limits::default());
//! # let mut recorder = ScheduleRecorder::new();
//! # let drawn = run(&mut machine, &mut RandomWalk::new(), 7, &mut recorder, &stop);
//! # let schedule = recorder.schedule(&machine.world);
//!
//! let word = Token {
//!     program: model.digest(),
//!     defines: model.defines.clone(),
//!     limits: Limits::default(),
//!     strategy: "random".to_owned(),
//!     seed: 7,
//!     signature: signature(&model.code.setup, drawn.outcome().expect("it ended")),
//!     schedule,
//! }
//! .to_string();
//! assert!(word.starts_with("rf1-"));
//!
//! // Somewhere else. A damaged word is an error that says what is wrong with it.
//! let token: Token = word.parse()?;
//! let model = Model::from_text("menu.race", &text, &token.defines)?;
//! let mut replay = Replay::new(Arc::new(token.schedule));
//! let again = run(&mut model.machine(token.limits), &mut replay, 0, &mut NoObserver, &stop);
//! assert_eq!(again, drawn);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`shrink::shrink`] reduces the run of a token: it searches for a run that ends in the same way with as few
//! preemptions and reorderings as possible.
//!
//! # 6. Potential races
//!
//! [`detect::Hybrid`] is an *observer*: it receives the events of a run, and finds pairs of statements that might race
//! in another run.
//!
//! ```
//! use raceflip::detect::Hybrid;
//! # use raceflip::{exec::run, sched::RandomWalk, vm::Model, world::Limits};
//! # use std::sync::atomic::AtomicBool;
//! # let model = Model::from_text("menu.race", &std::fs::read_to_string("docs/menu.race")?, &[])?;
//! # let stop = AtomicBool::new(false);
//! # let mut machine = model.machine(Limits::default());
//!
//! let mut hybrid = Hybrid::new();
//! run(&mut machine, &mut RandomWalk::new(), 1, &mut hybrid, &stop);
//! let candidates = hybrid.finish();
//! let line = |site| model.program.sites[site].line;
//! for candidate in &candidates {
//!     let (pair, at) = (candidate.pair, &candidate.evidence.location);
//!     println!("{at}: line {} and line {}", line(pair.a), line(pair.b));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 7. Real races
//!
//! [`campaign::confirm`] does all of this at once, with any number of workers: it detects pairs over many runs, directs
//! the scheduler at each pair until both orders have been seen, and keeps a token for each order and each failure. The
//! number of workers never changes the result.
//!
//! ```
//! use raceflip::campaign::{CampaignContext, CampaignPlan, NoProgress, confirm};
//! # use raceflip::vm::Model;
//! # use std::sync::atomic::AtomicBool;
//! # let model = Model::from_text("menu.race", &std::fs::read_to_string("docs/menu.race")?, &[])?;
//! # let stop = AtomicBool::new(false);
//!
//! let context = CampaignContext { stop: &stop, progress: &NoProgress };
//! let found = confirm(&CampaignPlan { jobs: 2, ..CampaignPlan::new(&model) }, context);
//! let [pair] = &found.pairs[..] else { panic!("one pair") };
//! assert_eq!(pair.discovery.place, "bound");
//! assert!(pair.verdict().confirmed());
//! for (first, failure) in pair.hurts() {
//!     // `raceflip replay menu.race TOKEN` shows it.
//!     println!("only with {first:?} first: {}, {}", failure.signature, failure.evidence.token);
//! }
//! # assert_eq!(pair.hurts().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 8. What a model expects
//!
//! The `expect` lines of a model state what must be found in it, and what must not.
//! [`campaign::test()`](campaign::test()) judges them, as `raceflip test` does.
//!
//! ```
//! use raceflip::campaign::{LineVerdict, TestPlan, test};
//! # use raceflip::{campaign::{CampaignContext, CampaignPlan, NoProgress}, vm::Model};
//! # use std::sync::atomic::AtomicBool;
//! # let text = std::fs::read_to_string("docs/menu.race")?;
//! # let stop = AtomicBool::new(false);
//! # let context = CampaignContext { stop: &stop, progress: &NoProgress };
//!
//! for fixed in [0, 1] {
//!     let model = Model::from_text("menu.race", &text, &[("FIXED".to_owned(), fixed)])?;
//!     let campaign = CampaignPlan::new(&model);
//!     let tested = test(&TestPlan { model: &model, campaign, walks: 200, states: TestPlan::STATES, saved: &[], shrinks: true }, context);
//!     for line in &tested.lines {
//!         assert!(matches!(line.verdict, LineVerdict::Met), "{}", line.text);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 9. A strategy of one's own
//!
//! An implementation of [`sched::Strategy`] decides which actor acts next. Nothing else in a run is left to chance, so
//! every strategy can be recorded, replayed and observed. The strategy of this example chooses the youngest enabled
//! thread, that is, the one that was created last.
//!
//! ```
//! use raceflip::event::{Actor, Outcome};
//! use raceflip::sched::{Divergence, Strategy, View};
//! use raceflip::world::Question;
//! # use raceflip::{exec::{NoObserver, run}, vm::Model, world::Limits};
//! # use std::sync::atomic::AtomicBool;
//! # let model = Model::from_text("menu.race", &std::fs::read_to_string("docs/menu.race")?, &[])?;
//! # let stop = AtomicBool::new(false);
//!
//! struct YoungestFirst;
//!
//! impl Strategy for YoungestFirst {
//!     fn begin(&mut self, _seed: u64) {}
//!
//!     fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
//!         let youngest = view.world.enabled().iter().last();
//!         // Where no thread is enabled: the clock, an event, or the end of the run.
//!         Ok(youngest.map_or_else(|| view.world.open_actor(&view.openings, 0), Actor::Thread))
//!     }
//!
//!     fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
//!         Ok(match question.answers() {
//!             Some(_) => 0,
//!             None => view.world.next_deadline(),
//!         })
//!     }
//! }
//!
//! let mut machine = model.machine(Limits::default());
//! let summary = run(&mut machine, &mut YoungestFirst, 0, &mut NoObserver, &stop);
//! assert!(matches!(summary.outcome(), Some(Outcome::Failure(_))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 10. An observer of one's own
//!
//! An implementation of [`exec::Observer`] receives each [`event::Event`] when it happens, together with the state
//! after it, or each choice before it is performed, or both. A pair of references to two observers is an observer too.
//!
//! ```
//! use raceflip::event::{Event, EventKind, Op};
//! use raceflip::exec::Observer;
//! use raceflip::world::World;
//! # use raceflip::{exec::run, sched::RoundRobin, vm::Model, world::Limits};
//! # use std::sync::atomic::AtomicBool;
//! # let model = Model::from_text("menu.race", &std::fs::read_to_string("docs/menu.race")?, &[])?;
//! # let stop = AtomicBool::new(false);
//!
//! #[derive(Default)]
//! struct Tasks(Vec<String>);
//!
//! impl Observer for Tasks {
//!     fn event(&mut self, world: &World, event: &Event) {
//!         if let EventKind::Performed { op: Op::Begin, made: Some(task), .. } = event.what {
//!             self.0.push(world.contexts().short_name(world.setup(), task));
//!         }
//!     }
//! }
//!
//! let mut tasks = Tasks::default();
//! run(&mut model.machine(Limits::default()), &mut RoundRobin::default(), 0, &mut tasks, &stop);
//! assert_eq!(tasks.0[0], "env/onStart#1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - **The same run, the same bytes.** A run depends on the model, the constants, the limits and the choices, and on
//!   nothing else: not on the wall clock, the threads of the operating system, or the order of a hash table. A strategy
//!   draws random numbers only from its seed.
//! - **The number of workers changes no result**: the seed of run i of a campaign is derived from the campaign's seed
//!   and i.
//! - **A confirmed pair is real** in the model: both accesses were seen side by side, or in both orders. Nothing is
//!   claimed about an unconfirmed pair.
//! - **No panic on bad input**, and no endless run: each limit is an outcome.
//! - **Versioned formats**: a token states its version, and is either read or refused, never misread. Each file format
//!   has a version too (`docs/formats.md`).
//!
//! # Where to continue
//!
//! | to | see |
//! |---|---|
//! | load, check, print and lay out models | [`vm::Model`], [`lang`] |
//! | run a model, and limit the run | [`exec`], [`world::Machine`], [`world::Limits`] |
//! | schedule it: random walk, PCT, PCTCP, POS, SURW, delay bound, RaceFuzzer | [`sched`], [`sched::StrategySpec`] |
//! | shrink a failing run | [`mod@shrink`] |
//! | read events and outcomes | [`event`] |
//! | inspect the state of a run, digest it | [`world::World`], [`world::Snapshot`] |
//! | test a program of another kind | [`world::Program`], [`world::Guest`] |
//! | visit every state, and prove that something never happens | [`explore`] |
//! | detect, confirm and test | [`detect`], [`campaign`] |
//! | read a trace, and find its races | [`formats::traces`], [`detect::happens_before`], [`trace`] |
//! | write traces, reports, timelines | [`formats`] |
//! | use the command line | `README.md`, `raceflip help` |
//! | write models | `docs/language.md`, `harnesses/` |
//! | change raceflip | `docs/architecture.md` |
//!
//! The feature `cli`, on by default, is the program. A package that uses the library alone leaves it out
//! (`default-features = false`) and builds neither clap nor indicatif nor annotate-snippets. Errors of models then have
//! no excerpt of the source.

pub mod base;
pub mod campaign;
#[cfg(feature = "cli")]
pub mod cli;
pub mod detect;
pub mod event;
pub mod exec;
pub mod explore;
pub mod formats;
pub mod lang;
#[cfg(feature = "native")]
pub mod native;
pub mod sched;
pub mod shrink;
pub mod statics;
pub mod token;
pub mod trace;
pub mod vm;
pub mod world;
