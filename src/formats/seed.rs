//! Defines the files of saved failures: `raceflip-seed` version 1, one TOML file for each failure (`docs/formats.md`).

use super::toml_file::{self, TomlFileError};
use crate::base::Digester;
use crate::token::Token;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

const FORMAT: &str = "raceflip-seed";

/// A saved failure.
///
/// # Examples
///
/// ```
/// use raceflip::formats::seed::{SeedError, SeedFile};
///
/// let text = "format = \"raceflip-seed\"\nversion = 9\n";
/// assert_eq!(SeedFile::read(text), Err(SeedError::Version(9)));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct SeedFile {
    pub format: String,
    pub version: u32,
    pub model: String,
    pub expectation: String,
    pub signature: String,
    pub token: String,
    #[serde(default)]
    pub defines: BTreeMap<String, i64>,
}

/// Reasons why a text is not a saved failure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SeedError {
    /// The text is not TOML, or a field is missing.
    #[error("{0}")]
    Toml(String),
    /// The text has another `format`.
    #[error("its `format` is {0:?}, not \"{FORMAT}\"")]
    Foreign(String),
    /// The file has another version.
    #[error("its `version` is {0}; this raceflip reads version {VERSION}")]
    Version(u32),
    /// The token is invalid, or its signature is not that of the file.
    #[error("its `token` cannot be used: {0}")]
    Token(String),
}

impl From<TomlFileError> for SeedError {
    fn from(error: TomlFileError) -> Self {
        match error {
            TomlFileError::Toml(why) => Self::Toml(why),
            TomlFileError::Foreign(format) => Self::Foreign(format),
            TomlFileError::Version(version) => Self::Version(version),
        }
    }
}

impl SeedFile {
    /// Creates the saved failure of a token in the model of this name; `expectation` is the line that it contradicts.
    #[must_use]
    pub fn new(
        model: String,
        defines: &[(String, i64)],
        expectation: String,
        signature: String,
        token: String,
    ) -> Self {
        let defines = defines.iter().cloned().collect();
        Self { format: FORMAT.to_owned(), version: VERSION, model, expectation, signature, token, defines }
    }

    /// Returns the name of the file without its extension: the name of the model, and a digest of model, variant and
    /// signature.
    #[must_use]
    pub fn stem(&self) -> String {
        let file = self.model.rsplit('/').next().unwrap_or_default();
        let file = file.strip_suffix(".race").unwrap_or(file);
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
        let name: String = file.chars().map(plain).take(60).collect();
        let mut digest = Digester::new();
        digest.text(&self.model);
        for (name, value) in &self.defines {
            digest.text(name).word(*value as u64);
        }
        digest.text(&self.signature);
        format!("{name}-{:016x}", digest.finish() as u64)
    }

    /// Returns the text of the file, with these lines as a comment at the top.
    #[must_use]
    pub fn to_toml(&self, comment: &[String]) -> String {
        let comment: String = comment.iter().map(|line| format!("# {line}\n")).collect();
        format!("{comment}\n{}", toml::to_string(self).expect("texts and numbers can be written"))
    }

    /// Reads a file, and parses its token.
    ///
    /// # Errors
    ///
    /// Returns a [`SeedError`] if the text is not a saved failure of a known version, or if its token is damaged.
    pub fn read(text: &str) -> Result<(Self, Token), SeedError> {
        let seed: SeedFile = toml_file::read(text, FORMAT, VERSION)?;
        let token: Token = seed.token.parse().map_err(|e: crate::token::TokenError| SeedError::Token(e.to_string()))?;
        if token.signature != seed.signature {
            let why = format!("it ends as `{}`, and the file is about `{}`", token.signature, seed.signature);
            return Err(SeedError::Token(why));
        }
        Ok((seed, token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut token = Token {
            program: 1,
            defines: vec![("FIXED".to_owned(), 1)],
            limits: crate::world::Limits::default(),
            strategy: "random".to_owned(),
            seed: u64::MAX,
            signature: "failure \"a \\\" b\" t:0".to_owned(),
            schedule: crate::sched::Schedule::default(),
        };
        let seed = |token: &Token| {
            let (model, text) = ("a/my model.race".to_owned(), "no failure".to_owned());
            SeedFile::new(model, &token.defines, text, "failure \"a \\\" b\" t:0".to_owned(), token.to_string())
        };
        let text = seed(&token).to_toml(&["what it is".to_owned()]);
        assert!(text.starts_with("# what it is\n\nformat = \"raceflip-seed\"\nversion = 1\n"), "{text}");
        assert_eq!(SeedFile::read(&text), Ok((seed(&token), token.clone())));
        assert!(seed(&token).stem().starts_with("my_model-"));
        assert_eq!(SeedFile::read("version = 1\nformat = \"x\"").unwrap_err(), SeedError::Foreign("x".to_owned()));
        let newer = text.replace("version = 1", "version = 2");
        assert_eq!(SeedFile::read(&newer).unwrap_err(), SeedError::Version(2));
        assert!(matches!(SeedFile::read("version = "), Err(SeedError::Toml(_))));
        assert!(matches!(SeedFile::read(&text.replace("rf1-", "rf1-AA")), Err(SeedError::Token(_))));
        token.signature = "ok".to_owned();
        assert!(matches!(SeedFile::read(&seed(&token).to_toml(&[])), Err(SeedError::Token(_))));
    }
}
