//! All integration tests, as one program.

mod lang_parse;
