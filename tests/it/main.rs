//! All integration tests, as one program.

mod lang_check;
mod lang_parse;
