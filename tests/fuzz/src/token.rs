//! Fuzzes replay tokens: the text, and the bytes below the encoding, because no mutation of the text gets past its
//! checksum.

use super::model::LIMITS;
use data_encoding::BASE64URL_NOPAD;
use raceflip::exec::{NoObserver, run};
use raceflip::sched::{Replay, Tolerant};
use raceflip::token::Token;
use raceflip::vm::Model;
use raceflip::world::Limits;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use xxhash_rust::xxh3::xxh3_64;

/// A model with each kind of actor, in which choices also have arguments.
pub(crate) const MODEL: &str = "
var x = 0
lock m
looper main
event back on main initially 1 { @back: x = 2 }
task t(i) { @t: x += i }
thread a { sync m { wait m for 2 }; post t(1) to main after 3; fork t(2) }
thread b { if * { sync m { notify m } } else { sleep 2 }; @b: x = 1 }
thread c { sync m { wait m for 5 }; @c: assert x != 3, \"three\" }
";

pub(crate) static LOADED: LazyLock<Model> =
    LazyLock::new(|| Model::from_text("fuzz.race", MODEL, &[]).expect("it is right"));

/// Checks the reader of tokens on these bytes. Bytes that begin like a token are read as text; all others become the
/// body of a token of each version.
pub fn check(bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.trim_start().starts_with("rf") => read(text),
        _ => ["rf1-", "rf2-"].into_iter().for_each(|prefix| read(&armoured(prefix, bytes))),
    }
}

fn read(text: &str) {
    let token: Token = match text.parse() {
        Ok(token) => token,
        Err(error) => return super::is_told(&error.to_string()),
    };
    let written = token.to_string();
    assert_eq!(written.parse::<Token>().as_ref(), Ok(&token));
    replay(&token);
}

/// Encodes a body as the text of a token, with its length and checksum.
fn armoured(prefix: &str, body: &[u8]) -> String {
    let mut whole = Vec::new();
    let mut length = body.len();
    while length >= 0x80 {
        whole.push(length as u8 | 0x80);
        length >>= 7;
    }
    whole.push(length as u8);
    whole.extend(body);
    whole.extend((xxh3_64(body) as u32).to_le_bytes());
    format!("{prefix}{}", BASE64URL_NOPAD.encode(&whole))
}

// Replays the token once strictly and once tolerantly, under limits that are no larger than those of this file.
fn replay(token: &Token) {
    let stop = AtomicBool::new(false);
    let least = |theirs: u32, ours: u32| theirs.min(ours);
    let limits = Limits {
        steps: token.limits.steps.min(LIMITS.steps),
        time: token.limits.time.min(LIMITS.time),
        objects: least(token.limits.objects, LIMITS.objects),
        threads: least(token.limits.threads, LIMITS.threads),
        queue: least(token.limits.queue, LIMITS.queue),
        list: least(token.limits.list, LIMITS.list),
        local: token.limits.local.min(LIMITS.local),
        depth: least(token.limits.depth, LIMITS.depth),
        cells: least(token.limits.cells, LIMITS.cells),
    };
    let mut machine = LOADED.machine(limits);
    let schedule = Arc::new(token.schedule.clone());
    let strict = run(&mut machine, &mut Replay::new(schedule.clone()), 0, &mut NoObserver, &stop);
    assert!(strict.steps <= limits.steps);
    let mut tolerant = Tolerant::new(schedule);
    let far = run(&mut machine, &mut tolerant, 0, &mut NoObserver, &stop);
    assert!(far.steps <= limits.steps && far.outcome().is_some(), "{far:?}");
    // If the strict replay completes, the tolerant one must follow the same schedule.
    if strict.outcome().is_some() {
        assert_eq!(strict, far);
    }
}
