//! Defines the file formats and reports that raceflip reads and writes, each with its own types and version.
//! `docs/formats.md` describes them.
//!
//! | content | module |
//! |---|---|
//! | the events of a run, as JSON lines | [`trace::TraceWriter`] |
//! | reader and statistics of traces in several forms | [`traces::read`], [`traces::stat`] |
//! | the failure of a run, in one line | [`failure_place::ending`] |
//! | the result of a run, as JSON, with the final [`state::State`] | [`result::RunReport`] |
//! | a run for readers: text, Mermaid, Perfetto | [`timeline`] |
//! | the results of `detect`, `confirm` | [`mod@detect`], [`mod@campaign`] |
//! | the evidence for the harm of a pair | [`harms`] |
//! | deadlock rings in these results | [`mod@ring`] |
//! | the results of `confirm` over many models, and of `merge` | [`campaigns`] |
//! | the judgment of `--fail-on` in these results | [`gate::GateReport`] |
//! | the finished part of such a campaign | [`journal`] |
//! | the results of `confirm` for other tools: JUnit, SARIF, GitHub, Markdown | [`report`] |
//! | use-free races among these pairs | [`use_free::UseFreeFields`] |
//! | lists of potential pairs, as JSON or lines | [`mod@pairs`] |
//! | the races of a trace | [`mod@analysis`] |
//! | the results of `test` | [`mod@test`] |
//! | the results of `shrink` | [`mod@shrink`] |
//! | the results of `fuzz` | [`mod@fuzz`] |
//! | the state of a learning campaign, to go on from | [`fuzz_journal`] |
//! | runs that show all pairs, as TOML | [`corpus::Corpus`] |
//! | saved failures, as TOML | [`seed::SeedFile`] |

pub mod analysis;
pub mod atomicity;
pub mod campaign;
pub mod campaigns;
pub mod caught;
pub mod corpus;
pub mod detect;
mod endless;
pub mod explore;
pub mod failure_place;
pub mod fuzz;
pub mod fuzz_journal;
pub mod gate;
pub mod harms;
pub mod journal;
mod limits;
pub mod orders;
pub mod pairs;
mod proof;
pub mod report;
pub mod result;
pub mod ring;
pub mod seed;
pub mod shell;
pub mod shrink;
pub mod state;
pub mod statics;
pub mod test;
pub mod timeline;
mod toml_file;
pub mod trace;
mod trace_kinds;
pub mod trace_model;
mod trace_names;
mod trace_operation;
pub mod traces;
pub mod use_free;
mod values;
pub mod violations;
