//! Encodes numbers and texts as bytes: LEB128, zigzag for signed numbers, texts with their length.

use super::TokenError;

#[derive(Default)]
pub(super) struct ByteWriter {
    bytes: Vec<u8>,
}

impl ByteWriter {
    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(super) fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }

    pub(super) fn signed(&mut self, n: i64) {
        self.number((n << 1 ^ n >> 63) as u64);
    }

    /// Writes eight bytes, for a digest or a seed.
    pub(super) fn word(&mut self, n: u64) {
        self.bytes.extend(n.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

pub(super) struct Reader<'b> {
    bytes: &'b [u8],
}

const SHORT: TokenError = TokenError::Malformed("it ends in the middle of a value");

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn rest(&self) -> &'b [u8] {
        self.bytes
    }

    pub(super) fn byte(&mut self) -> Result<u8, TokenError> {
        let (first, rest) = self.bytes.split_first().ok_or(SHORT)?;
        self.bytes = rest;
        Ok(*first)
    }

    pub(super) fn number(&mut self) -> Result<u64, TokenError> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            n |= part << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err(TokenError::Malformed("a number that does not fit 64 bits"))
    }

    /// Reads a number of elements that follow, each of which takes at least one byte.
    pub(super) fn count(&mut self) -> Result<u64, TokenError> {
        let n = self.number()?;
        if n > self.bytes.len() as u64 { Err(SHORT) } else { Ok(n) }
    }

    pub(super) fn signed(&mut self) -> Result<i64, TokenError> {
        let n = self.number()?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    pub(super) fn take(&mut self, n: usize) -> Result<&'b [u8], TokenError> {
        let (taken, rest) = self.bytes.split_at_checked(n).ok_or(SHORT)?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn word(&mut self) -> Result<u64, TokenError> {
        let mut word = [0; 8];
        word.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(word))
    }

    pub(super) fn text(&mut self) -> Result<String, TokenError> {
        let length = self.count()?;
        let bytes = self.take(length as usize)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| TokenError::Malformed("a name that is not UTF-8"))
    }

    pub(super) fn end(&self) -> Result<(), TokenError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(TokenError::Malformed("something follows its end")) }
    }
}
