//! Replay tokens: `rf1-...`, a run as text.
//!
//! A token holds the choices by name, not the seed, so it survives edits elsewhere in the model and other versions of the
//! strategies. Beside them it says which program it was made for (a digest; another one is a warning, the choices decide), the
//! `-D` values, the limits, how the run ended, and, as provenance, the strategy and the seed that drew it.
//! `docs/formats.md` has the layout. A new layout is a new prefix; every version ever written stays in the tests.

mod bytes;
#[cfg(test)]
mod tests;

use crate::sched::{ActorName, Schedule, Scheduled};
use crate::world::Limits;
use bytes::{Reader, Writer};
use data_encoding::BASE64URL_NOPAD;
use std::fmt;
use std::str::FromStr;
use xxhash_rust::xxh3::xxh3_64;

/// Raised when visible operations or enabledness change: an older token may then mean another run.
pub const SEMANTICS: u64 = 1;

const PREFIX: &str = "rf1-";

/// A run that can be replayed.
///
/// # Examples
///
/// [The tutorial](crate#5-a-token) makes one out of a run.
///
/// ```
/// use raceflip::token::{Token, TokenError};
///
/// let word = "rf1-WgF4ql9wV6BzdgAABnJhbmRvbRS5RSXWRvOzAm9rBAIDZW52AgRtYWluAhdlbnYvb25TdGFydCMxL3NlcnZpY2UjMQELAKgEPQSnCAcA8QQ9BFcEPQRPBKsMoAY0IA8";
/// let token: Token = word.parse()?;
/// assert_eq!((&token.strategy[..], &token.signature[..]), ("random", "ok"));
/// assert_eq!(token.to_string(), word);
///
/// let cut = word[..40].parse::<Token>();
/// assert!(matches!(cut, Err(TokenError::Truncated { .. })));
/// # Ok::<(), TokenError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// The low half of the program's digest.
    pub program: u64,
    /// `-D` values.
    pub defines: Vec<(String, i64)>,
    /// Limits of the run.
    pub limits: Limits,
    /// Which strategy drew it.
    pub strategy: String,
    /// With which seed.
    pub seed: u64,
    /// How the run ended ([`signature`](crate::world::signature)).
    pub signature: String,
    /// Its choices.
    pub schedule: Schedule,
}

/// Why a text is no token.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenError {
    /// Something else altogether.
    #[error(
        "this is not a replay token: one starts with `{PREFIX}`, as `raceflip run` and `raceflip confirm` print it"
    )]
    Foreign,
    /// Made by a later version.
    #[error("this token was made by a newer raceflip (format rf{0}); this one reads rf1: install the newer one")]
    NewerFormat(u64),
    /// Made under another meaning of the language.
    #[error(
        "this token was made under semantics version {0}, this raceflip has version {SEMANTICS}: it may mean another run; make it again from its seed"
    )]
    OtherSemantics(u64),
    /// A character that no token has.
    #[error("character {0} of the token, {1:?}, cannot stand in one: copy it again, in one piece")]
    Character(usize, char),
    /// Its end is missing.
    #[error("the token is cut off: {missing} of its {length} bytes are missing; copy it again, to its end")]
    Truncated {
        /// Bytes that it should have.
        length: u64,
        /// Bytes that are not there.
        missing: u64,
    },
    /// Changed on the way.
    #[error("the token is damaged: its checksum is wrong; copy it again")]
    Damaged,
    /// Its checksum is right and its content makes no sense.
    #[error("the token is malformed: {0}")]
    Malformed(&'static str),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = self.body();
        let mut whole = Writer::default();
        whole.number(body.len() as u64);
        let mut whole = whole.into_bytes();
        whole.extend(&body);
        whole.extend(&(xxh3_64(&body) as u32).to_le_bytes());
        write!(f, "{PREFIX}{}", BASE64URL_NOPAD.encode(&whole))
    }
}

impl Token {
    fn body(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.number(SEMANTICS);
        w.word(self.program);
        w.number(self.defines.len() as u64);
        for (name, value) in &self.defines {
            w.text(name);
            w.signed(*value);
        }
        let (limits, defaults) = (limit_words(&self.limits), limit_words(&Limits::default()));
        let changed: Vec<usize> = (0..limits.len()).filter(|i| limits[*i] != defaults[*i]).collect();
        w.number(changed.len() as u64);
        for i in changed {
            w.number(i as u64);
            w.number(limits[i]);
        }
        w.text(&self.strategy);
        w.word(self.seed);
        w.text(&self.signature);
        w.number(self.schedule.actors.len() as u64);
        for actor in &self.schedule.actors {
            match actor {
                ActorName::Clock => w.number(0),
                ActorName::Stop => w.number(1),
                ActorName::Thread(name) => {
                    w.number(2);
                    w.text(name);
                }
                ActorName::Event(name) => {
                    w.number(3);
                    w.text(name);
                }
            }
        }
        w.number(self.schedule.choices.len() as u64);
        for c in &self.schedule.choices {
            // Two flags: is there an argument, is there a count.
            let flags = u64::from(c.argument != 0) | u64::from(c.count != 1) << 1;
            w.number(u64::from(c.actor) << 2 | flags);
            if c.argument != 0 {
                w.number(c.argument);
            }
            if c.count != 1 {
                w.number(c.count);
            }
            w.byte(c.check);
        }
        w.into_bytes()
    }

    fn from_body(body: &[u8]) -> Result<Self, TokenError> {
        let mut r = Reader::new(body);
        let semantics = r.number()?;
        if semantics != SEMANTICS {
            return Err(TokenError::OtherSemantics(semantics));
        }
        let program = r.word()?;
        let mut defines = Vec::new();
        for _ in 0..r.count()? {
            defines.push((r.text()?, r.signed()?));
        }
        let mut limits = limit_words(&Limits::default());
        for _ in 0..r.count()? {
            let i = r.number()?;
            let value = r.number()?;
            *limits.get_mut(i as usize).ok_or(TokenError::Malformed("an unknown limit"))? = value;
        }
        let (strategy, seed, signature) = (r.text()?, r.word()?, r.text()?);
        let mut schedule = Schedule::default();
        for _ in 0..r.count()? {
            schedule.actors.push(match r.number()? {
                0 => ActorName::Clock,
                1 => ActorName::Stop,
                2 => ActorName::Thread(r.text()?),
                3 => ActorName::Event(r.text()?),
                _ => return Err(TokenError::Malformed("an unknown kind of actor")),
            });
        }
        for _ in 0..r.count()? {
            let head = r.number()?;
            let argument = if head & 1 != 0 { r.number()? } else { 0 };
            let count = if head & 2 != 0 { r.number()? } else { 1 };
            let check = r.byte()?;
            let actor = u32::try_from(head >> 2).ok().filter(|a| (*a as usize) < schedule.actors.len());
            let actor = actor.ok_or(TokenError::Malformed("a choice of an actor that is not listed"))?;
            if count == 0 {
                return Err(TokenError::Malformed("a choice that is made no times"));
            }
            schedule.choices.push(Scheduled { actor, argument, check, count });
        }
        r.end()?;
        Ok(Self { program, defines, limits: limits_from(limits)?, strategy, seed, signature, schedule })
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let Some(encoded) = text.strip_prefix(PREFIX) else {
            let version = text.strip_prefix("rf").and_then(|t| t.split_once('-')).and_then(|(n, _)| n.parse().ok());
            return Err(version.filter(|n| *n > 1).map_or(TokenError::Foreign, TokenError::NewerFormat));
        };
        let alphabet = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if let Some((i, c)) = encoded.chars().enumerate().find(|(_, c)| !alphabet(*c)) {
            return Err(TokenError::Character(PREFIX.len() + i + 1, c));
        }
        // A cut can leave a last group that stands for no whole byte; what is before it still says how much is missing.
        let whole = (0..encoded.len().min(4))
            .find_map(|cut| BASE64URL_NOPAD.decode(&encoded.as_bytes()[..encoded.len() - cut]).ok())
            .unwrap_or_default();
        let mut r = Reader::new(&whole);
        let length = r.number().map_err(|_| TokenError::Truncated { length: 1, missing: 1 })?;
        let there = r.rest();
        let wanted = length.saturating_add(4);
        if (there.len() as u64) < wanted {
            return Err(TokenError::Truncated { length: wanted, missing: wanted - there.len() as u64 });
        }
        let (body, check) = there.split_at(length as usize);
        if check != (xxh3_64(body) as u32).to_le_bytes() {
            return Err(TokenError::Damaged);
        }
        Self::from_body(body)
    }
}

fn limit_words(l: &Limits) -> [u64; 9] {
    let n = u64::from;
    [l.steps, l.time, n(l.objects), n(l.threads), n(l.queue), n(l.list), l.local, n(l.depth), n(l.cells)]
}

fn limits_from(w: [u64; 9]) -> Result<Limits, TokenError> {
    let n = |w: u64| u32::try_from(w).map_err(|_| TokenError::Malformed("a limit out of range"));
    Ok(Limits {
        steps: w[0],
        time: w[1],
        objects: n(w[2])?,
        threads: n(w[3])?,
        queue: n(w[4])?,
        list: n(w[5])?,
        local: w[6],
        depth: n(w[7])?,
        cells: n(w[8])?,
    })
}
