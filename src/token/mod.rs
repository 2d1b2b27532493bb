//! Replay tokens: `rf1-...` or `rf2-...`, the text form of a run.
//!
//! A token holds the choices by name, not the seed, so it survives edits elsewhere in the model and new versions of the
//! strategies. It also holds:
//!
//! - the digest of the program that it was made for (with another program replay only warns: the choices decide),
//! - the `-D` values and the limits,
//! - how the run ended,
//! - as provenance, the strategy and the seed that drew the run.
//!
//! `docs/formats.md` describes the layout. A new layout has a new prefix; the tests contain every version that was ever
//! written.
//!
//! Version 1 (`first`) stores whole names and every choice. Version 2 (`second`) shares the common parts of names and
//! stores repetitions once. Version 2 is written if the name of a thread is deep, or if it is the shorter one for a run
//! that needs more than 4,096 bytes in version 1.

mod bytes;
mod first;
mod repeats;
mod second;
#[cfg(test)]
mod tests;

use crate::sched::Schedule;
use crate::world::Limits;
use bytes::{ByteWriter, Reader};
use data_encoding::BASE64URL_NOPAD;
use std::fmt;
use std::str::FromStr;
use xxhash_rust::xxh3::xxh3_64;

/// Version of the semantics. It is raised when visible operations or enabledness change, because an older token could
/// then replay another run.
pub const SEMANTICS: u64 = 1;

const PREFIXES: [&str; 2] = ["rf1-", "rf2-"];
// A run that needs at most this many bytes in version 1 is written in version 1.
const SHORT: usize = 4_096;

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
    /// The low half of the digest of the program.
    pub program: u64,
    /// The `-D` values.
    pub defines: Vec<(String, i64)>,
    /// The limits of the run.
    pub limits: Limits,
    /// The strategy that drew the run.
    pub strategy: String,
    /// The seed with which the strategy drew the run.
    pub seed: u64,
    /// How the run ended ([`signature`](crate::world::signature)).
    pub signature: String,
    /// The choices of the run.
    pub schedule: Schedule,
}

/// Why a text is not a token.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenError {
    /// The text is not a token at all.
    #[error(
        "this is not a replay token: one starts with `rf1-` or `rf2-`, as `raceflip run` and `raceflip confirm` print it"
    )]
    Foreign,
    /// The token was made by a later version of raceflip.
    #[error(
        "this token was made by a newer raceflip (format rf{0}); this one reads rf1 and rf2: install the newer one"
    )]
    NewerFormat(u64),
    /// The token was made under other semantics of the language.
    #[error(
        "this token was made under semantics version {0}, this raceflip has version {SEMANTICS}: it may mean another run; make it again from its seed"
    )]
    OtherSemantics(u64),
    /// The text has a character that no token has: its position, counted from 1, and the character.
    #[error("character {0} of the token, {1:?}, cannot be part of a token: copy the token again, in one piece")]
    Character(usize, char),
    /// The token is cut off so early that it does not even say its length.
    #[error("the token is cut off right after `{0}`; copy it again, to its end")]
    Empty(&'static str),
    /// The end of the token is missing.
    #[error("the token is cut off: {missing} of its {length} bytes are missing; copy it again, to its end")]
    Truncated {
        /// Length that the token should have, in bytes.
        length: u64,
        /// Number of bytes that are missing.
        missing: u64,
    },
    /// The checksum does not match the content.
    #[error("the token is damaged: its checksum is wrong; copy it again")]
    Damaged,
    /// The token is whole, and this many characters follow its end.
    #[error("something follows the end of the token (characters too many: {0}): copy it again, without what follows")]
    Followed(usize),
    /// The checksum matches, but the content makes no sense.
    #[error("the token is malformed: {0}")]
    Malformed(&'static str),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (prefix, body) = self.written();
        let mut whole = ByteWriter::default();
        whole.number(body.len() as u64);
        let mut whole = whole.into_bytes();
        whole.extend(&body);
        whole.extend(&(xxh3_64(&body) as u32).to_le_bytes());
        write!(f, "{prefix}{}", BASE64URL_NOPAD.encode(&whole))
    }
}

impl Token {
    // Returns the prefix of the version that is to be written, and the body in that version.
    fn written(&self) -> (&'static str, Vec<u8>) {
        let [first, second] = PREFIXES;
        // A schedule that was read from version 1 can have check bytes of whole deep names. Only version 1 stores
        // those.
        if self.schedule.whole_checks {
            return (first, self.body_of_first());
        }
        if self.schedule.names.has_deep() {
            return (second, self.body_of_second(true).unwrap_or_default());
        }
        let one = self.body_of_first();
        if one.len() <= SHORT {
            return (first, one);
        }
        match self.body_of_second(false) {
            Some(two) if two.len() < one.len() => (second, two),
            _ => (first, one),
        }
    }

    fn body_of_first(&self) -> Vec<u8> {
        let mut w = ByteWriter::default();
        self.head(&mut w);
        first::write(&self.schedule, &mut w);
        w.into_bytes()
    }

    // Returns `None` if the body is too long to be read again, unless `must` is set.
    fn body_of_second(&self, must: bool) -> Option<Vec<u8>> {
        let mut w = ByteWriter::default();
        self.head(&mut w);
        second::write(&self.schedule, must, &mut w).then(|| w.into_bytes())
    }

    // Writes the part that all versions begin with.
    fn head(&self, w: &mut ByteWriter) {
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
    }

    fn from_body(
        body: &[u8],
        schedule: fn(&mut Reader<'_>) -> Result<Schedule, TokenError>,
    ) -> Result<Self, TokenError> {
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
        let schedule = schedule(&mut r)?;
        r.end()?;
        Ok(Self { program, defines, limits: limits_from(limits)?, strategy, seed, signature, schedule })
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let [first, second] = PREFIXES;
        let read = [(first, first::read as fn(&mut Reader<'_>) -> _), (second, second::read)];
        let of = read.into_iter().find_map(|(prefix, read)| Some((prefix, text.strip_prefix(prefix)?, read)));
        let Some((prefix, encoded, schedule)) = of else {
            let version = text.strip_prefix("rf").and_then(|t| t.split_once('-')).and_then(|(n, _)| n.parse().ok());
            let known = PREFIXES.len() as u64;
            return Err(version.filter(|n| *n > known).map_or(TokenError::Foreign, TokenError::NewerFormat));
        };
        let alphabet = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if let Some((i, c)) = encoded.chars().enumerate().find(|(_, c)| !alphabet(*c)) {
            return Err(TokenError::Character(prefix.len() + i + 1, c));
        }
        // A cut can leave a last group that does not encode a whole byte. The text before it still says how many bytes
        // are missing.
        let (cut, whole) = (0..encoded.len().min(4))
            .find_map(|cut| Some((cut, BASE64URL_NOPAD.decode(&encoded.as_bytes()[..encoded.len() - cut]).ok()?)))
            .unwrap_or_default();
        let mut r = Reader::new(&whole);
        let length = r.number().map_err(|_| TokenError::Empty(prefix))?;
        let there = r.rest();
        let wanted = length.saturating_add(4);
        // The bytes of the last group count, even if it does not decode: then the token is not cut off, but damaged.
        let held = (there.len() + encoded.len() * 3 / 4 - whole.len()) as u64;
        if held < wanted {
            return Err(TokenError::Truncated { length: wanted, missing: wanted - held });
        }
        let (body, check) = there.split_at_checked(length as usize).ok_or(TokenError::Damaged)?;
        let Some((check, rest)) = check.split_first_chunk::<4>() else { return Err(TokenError::Damaged) };
        if *check != (xxh3_64(body) as u32).to_le_bytes() {
            return Err(TokenError::Damaged);
        }
        // The number of characters that encode the length, the body and the checksum.
        let complete = ((whole.len() - rest.len()) * 4).div_ceil(3);
        if cut > 0 || encoded.len() > complete {
            return Err(TokenError::Followed(encoded.len() - complete));
        }
        Self::from_body(body, schedule)
    }
}

// Limits memory: the names of a forged token could take much more memory than its text.
const MOST_PARTS: u64 = 1_000_000;

fn may_have(parts: u64) -> Result<(), TokenError> {
    if parts > MOST_PARTS { Err(TokenError::Malformed("its names have more than 1,000,000 parts")) } else { Ok(()) }
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
