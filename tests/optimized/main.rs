//! The tests that are worth their time in an optimized build: it must draw the same runs as any other build, and shrink
//! them to what the table says. A program of its own, so that the other tests are not optimized for them.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/chance.rs"]
mod chance;
#[path = "../it/determinism.rs"]
mod determinism;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/load.rs"]
mod load;
#[path = "../it/optimum.rs"]
mod optimum;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/shrink.rs"]
mod shrink;
#[path = "../it/shrink_table.rs"]
mod shrink_table;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/stateless.rs"]
mod stateless;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/surw.rs"]
mod surw;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/tiny.rs"]
mod tiny;
