//! File formats and reports: what is read and written, each with types of its own and a version. `docs/formats.md` describes them.
//!
//! | what | where |
//! |---|---|
//! | the events of a run, as JSON lines | [`trace::TraceWriter`] |
//! | traces of several forms, read; what is in them | [`traces::read`], [`traces::stat`] |
//! | how a run failed, in a line | [`failing::ending`] |
//! | the result of a run, as JSON | [`result::RunReport`], in it the [`state::State`] |
//! | a run for people: text, Mermaid, Perfetto | [`timeline`] |
//! | the results of `detect`, `confirm` | [`mod@detect`], [`mod@campaign`] |
//! | what the harm of a pair rests on | [`harms`] |
//! | the results of `confirm` over many models, and of `merge` | [`campaigns`] |
//! | what of such a campaign is finished | [`journal`] |
//! | those of `confirm` for other tools: JUnit, SARIF, GitHub, Markdown | [`report`] |
//! | lists of potential pairs, as JSON or lines | [`mod@pairs`] |
//! | the races of a trace | [`mod@analysis`] |
//! | the results of `test` | [`mod@test`] |
//! | the results of `shrink` | [`mod@shrink`] |
//! | saved failures, as TOML | [`seed::SeedFile`] |

pub mod analysis;
pub mod campaign;
pub mod campaigns;
pub mod detect;
pub mod explore;
pub mod failing;
pub mod harms;
pub mod journal;
pub mod pairs;
pub mod report;
pub mod result;
pub mod seed;
pub mod shell;
pub mod shrink;
pub mod state;
pub mod test;
pub mod timeline;
pub mod trace;
mod trace_names;
pub mod traces;
mod values;
