//! Compresses bytes: a form of LZ77 (Ziv and Lempel, *A universal algorithm for sequential data compression*). This
//! file alone determines the output, so one run has the same token in every build.
//!
//! The output begins with the length of the input. Then two parts alternate: a literal (its length and its bytes) and a
//! repeat (its length, less the least length, and the distance back to its source). A repeat may overlap its own
//! output, so periodic input is one repeat.

use super::TokenError;
use super::bytes::{ByteWriter, Reader};

// A shorter repeat is not worth the two numbers that encode it.
const LEAST: usize = 6;
const TABLE_BITS: u32 = 15;
/// The most bytes that are decompressed from a token, enough for a run of about ten million steps.
pub(super) const MOST: u64 = 32 << 20;

/// Compresses `bytes` into `w`.
pub(super) fn write(bytes: &[u8], w: &mut ByteWriter) {
    w.number(bytes.len() as u64);
    // For each hash the last position of bytes with this hash, plus one; 0 if there is none.
    let mut last = vec![0u32; 1 << TABLE_BITS];
    let (mut at, mut from) = (0, 0);
    while at + LEAST <= bytes.len() {
        let slot = &mut last[hash(&bytes[at..at + LEAST])];
        let back = (*slot as usize).checked_sub(1);
        *slot = at as u32 + 1;
        let length = back.map_or(0, |back| common(&bytes[back..], &bytes[at..]));
        let Some(back) = back.filter(|_| length >= LEAST) else {
            at += 1;
            continue;
        };
        literal(&bytes[from..at], w);
        w.number((length - LEAST) as u64);
        w.number((at - back) as u64);
        // Only the first positions inside a repeat are entered, to save time in long repeats.
        for inside in (at + 1..at + length).take(LEAST).filter(|i| i + LEAST <= bytes.len()) {
            last[hash(&bytes[inside..inside + LEAST])] = inside as u32 + 1;
        }
        at += length;
        from = at;
    }
    literal(&bytes[from..], w);
}

fn literal(bytes: &[u8], w: &mut ByteWriter) {
    w.number(bytes.len() as u64);
    bytes.iter().for_each(|b| w.byte(*b));
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn hash(bytes: &[u8]) -> usize {
    let word = bytes.iter().fold(0u64, |word, b| word << 8 | u64::from(*b));
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - TABLE_BITS)) as usize
}

/// Decompresses bytes, at most [`MOST`]. Takes no more memory than the length at the start of the input says.
pub(super) fn read(r: &mut Reader<'_>) -> Result<Vec<u8>, TokenError> {
    let whole = r.number()?;
    if whole > MOST {
        return Err(TokenError::Malformed("it says that it holds more than 32 MiB: make the run again from its seed"));
    }
    let mut bytes = Vec::new();
    loop {
        let literal = r.count()?;
        bytes.extend_from_slice(r.take(literal as usize)?);
        let left = whole.checked_sub(bytes.len() as u64).ok_or(TokenError::Malformed("more bytes than it says"))?;
        if left == 0 {
            return Ok(bytes);
        }
        let length = r.number()?.saturating_add(LEAST as u64);
        let back = r.number()?;
        if length > left {
            return Err(TokenError::Malformed("more bytes than it says"));
        }
        let from = usize::try_from(back).ok().filter(|b| *b > 0).and_then(|b| bytes.len().checked_sub(b));
        let from = from.ok_or(TokenError::Malformed("a repeat of what is not there"))?;
        // Byte by byte, because a repeat can overlap its own output.
        for i in from..from + length as usize {
            bytes.push(bytes[i]);
        }
    }
}
