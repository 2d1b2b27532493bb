//! Makes text from outside safe to show: a message of a model, a name, a path, a line of a trace.
//!
//! A terminal obeys control characters. An editor hides some characters, and others reverse the text between them. A CI
//! system treats some lines as commands. Text that is only shown must do none of this. The command line sends all of
//! its output through [`clean`] (`cli::output`).

use std::borrow::Cow;

/// Returns whether a character controls the terminal, is invisible, or changes how its neighbors are displayed: control
/// characters, separators of lines and paragraphs, bidirectional controls, the default-ignorable characters of Unicode
/// (version 16, `DerivedCoreProperties.txt`), annotations and noncharacters.
#[must_use]
pub fn hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || (c as u32) & 0xfffe == 0xfffe
}

/// Commands that GitHub, Azure Pipelines and TeamCity recognize anywhere in a line.
const ANYWHERE: [&str; 3] = ["##[", "##vso[", "##teamcity["];

/// Commands that GitHub and GitLab recognize at the start of a line, also after spaces.
const AT_START: [&str; 3] = ["::", "section_start:", "section_end:"];

/// A name with more parts than this is deep.
const DEEP: usize = 16;

/// Formats a number with its noun.
///
/// ```
/// assert_eq!(raceflip::base::counted(1u32, "pair"), "1 pair");
/// assert_eq!(raceflip::base::counted(2u64, "pair"), "2 pairs");
/// ```
#[must_use]
pub fn counted(n: impl Into<u64>, what: &str) -> String {
    let n = n.into();
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Formats a number with a phrase about one thing, or about several. [`counted`] suffices for a noun.
///
/// ```
/// use raceflip::base::phrased;
/// assert_eq!(phrased(1u32, "post: it is left out", "posts: they are left out"), "1 post: it is left out");
/// assert_eq!(phrased(2u64, "post: it is left out", "posts: they are left out"), "2 posts: they are left out");
/// ```
#[must_use]
pub fn phrased(n: impl Into<u64>, one: &str, several: &str) -> String {
    let n = n.into();
    format!("{n} {}", if n == 1 { one } else { several })
}

/// Returns the name of a thread or task for a message. A name lists all makers of its thread, so it can be very long. A
/// name of more than 16 parts is shortened to its first part, its last three parts and the number of its parts. Data
/// files contain the whole name.
///
/// # Examples
///
/// ```
/// use raceflip::base::elided;
/// assert_eq!(elided("t/tick#1/fetch#1"), "t/tick#1/fetch#1");
/// let deep = format!("t{}/fetch#1", "/tick#1".repeat(2_000));
/// assert_eq!(elided(&deep), "t/…/tick#1/tick#1/fetch#1 (2,002 deep)");
/// ```
#[must_use]
pub fn elided(name: &str) -> Cow<'_, str> {
    let ends: Vec<usize> = name.match_indices('/').map(|(at, _)| at).collect();
    if ends.len() < DEEP {
        return Cow::Borrowed(name);
    }
    let (first, last) = (&name[..ends[0]], &name[ends[ends.len() - 3]..]);
    let depth = match ends.len() + 1 {
        n @ ..1_000 => n.to_string(),
        n => format!("{},{:03}", n / 1_000, n % 1_000),
    };
    Cow::Owned(format!("{first}/…{last} ({depth} deep)"))
}

/// Returns a text as one line. A [`hidden`] character is escaped as `\u{202e}`, the end of a line as `\n`, a tab
/// becomes a space, and the `#` of a command to a CI system is escaped as `\u{23}`.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    push_clean(text, &mut clean);
    clean
}

/// Appends a text as one line to `to`, escaped as by [`clean`].
pub fn push_clean(text: &str, to: &mut String) {
    for (at, c) in text.char_indices() {
        match c {
            '\t' => to.push(' '),
            '#' if ANYWHERE.iter().any(|command| text[at..].starts_with(command)) => to.extend(c.escape_unicode()),
            c if hidden(c) => to.extend(c.escape_default()),
            c => to.push(c),
        }
    }
}

/// Returns the offset of the character that must be escaped, if a line begins like a command to a CI system.
#[must_use]
pub fn command_at(line: &str) -> Option<usize> {
    let begins = line.trim_start();
    AT_START.iter().any(|command| begins.starts_with(command)).then(|| line.len() - begins.len())
}

/// Returns JSON without hidden characters (except newlines) and without commands to a CI system. Such characters in its
/// strings are escaped as `\u202e`, which decodes to the same text.
#[must_use]
pub fn clean_json(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    for (at, c) in json.char_indices() {
        let command = c == '#' && ANYWHERE.iter().any(|command| json[at..].starts_with(command));
        if command || (hidden(c) && c != '\n') {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| clean.push_str(&format!("\\u{unit:04x}")));
        } else {
            clean.push(c);
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_shown() {
        let check = |given: &str, shown: &str| assert_eq!(clean(given), shown);
        check("a\tb \u{1b}[31m\u{202e}\u{e9}\u{7f}\n", "a b \\u{1b}[31m\\u{202e}\u{e9}\\u{7f}\\n");
        check(
            "\u{9b}31m \u{85} \u{2028}\u{2029} \u{200b}\u{feff}",
            "\\u{9b}31m \\u{85} \\u{2028}\\u{2029} \\u{200b}\\u{feff}",
        );
        check("\u{e0041} \u{61c} \u{2066} \u{ad}", "\\u{e0041} \\u{61c} \\u{2066} \\u{ad}");
        check("\u{4e2d}\u{6587} \u{1f600} \u{5d0}", "\u{4e2d}\u{6587} \u{1f600} \u{5d0}");
        // Cleaning a text twice is the same as cleaning it once.
        check("\\u{202e} ##\u{23}", "\\u{202e} ###");
    }

    #[test]
    fn commands_of_ci_systems_are_none() {
        let check = |given: &str, shown: &str| assert_eq!(clean(given), shown);
        check("a ##[error]b", "a \\u{23}#[error]b");
        check("##vso[task.setvariable]", "\\u{23}#vso[task.setvariable]");
        check("###teamcity[x]", "#\\u{23}#teamcity[x]");
        check("## a heading, C#[1]", "## a heading, C#[1]");
        assert_eq!(command_at("  ::error::x"), Some(2));
        assert_eq!(command_at("section_start:1:x"), Some(0));
        assert_eq!(command_at("a ::error::x"), None);
    }

    #[test]
    fn json_stays_what_it_says() {
        let text = "##[x ##vso[ \u{202e} \u{e0041} \u{7f} \u{9b} \" \\ \n \u{1b} ä";
        let json = clean_json(&serde_json::to_string_pretty(&[text]).unwrap());
        assert!(json.chars().all(|c| !hidden(c) || c == '\n'), "{json:?}");
        assert!(!json.contains("##"), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [text]);
    }
}
