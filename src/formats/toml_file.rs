//! Reads TOML files that name their format and its version.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Reasons why a text is not a file of a format.
pub(super) enum TomlFileError {
    /// The text is not TOML, or a field is missing: the line, and what is wrong.
    Toml(String),
    /// The text has this `format`.
    Foreign(String),
    /// The file has this version.
    Version(u32),
}

// The fields to read first: another version may have other fields.
#[derive(Deserialize)]
struct FileHead {
    format: String,
    version: u32,
}

/// Reads a file of this format and version.
pub(super) fn read<T: DeserializeOwned>(text: &str, format: &str, version: u32) -> Result<T, TomlFileError> {
    let wrong = |e: toml::de::Error| {
        let line = e.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        TomlFileError::Toml(format!("line {line}: {}", e.message().replace('\n', "; ")))
    };
    let head: FileHead = toml::from_str(text).map_err(wrong)?;
    if head.format != format {
        return Err(TomlFileError::Foreign(head.format));
    }
    if head.version != version {
        return Err(TomlFileError::Version(head.version));
    }
    toml::from_str(text).map_err(wrong)
}
