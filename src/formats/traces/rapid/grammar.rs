//! Parses a line of STD.

use crate::formats::traces::LineError;
use crate::formats::traces::grammar::short;

const FIELDS: &str = "a line of STD has three fields, as in `T0|w(V12)|41`";
const WORDS: &str =
    "STD has r, w, acq, rel, fork, join, begin and end (dummy and req are skipped); write a wait as a rel and an acq";
const OPERAND: &str = "write the operation with its operand, as in `acq(L1)`";
const NAME: &str = "names in STD are not empty and have no blanks";
const NUMBER: &str = "the third field is the number of a statement, as in `T0|w(V12)|41`";

/// The kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    Read,
    Write,
    Acquire,
    Release,
    Fork,
    Join,
    Begin,
    End,
    Dummy,
    Request,
}

// The word of each operation.
const ALL: [(&str, Word); 10] = [
    ("r", Word::Read),
    ("w", Word::Write),
    ("acq", Word::Acquire),
    ("rel", Word::Release),
    ("fork", Word::Fork),
    ("join", Word::Join),
    ("begin", Word::Begin),
    ("end", Word::End),
    ("dummy", Word::Dummy),
    ("req", Word::Request),
];

impl Word {
    // Whether the operation stands without an operand too.
    fn stands_bare(self) -> bool {
        matches!(self, Word::Begin | Word::End | Word::Dummy)
    }

    /// Returns the word in a file.
    pub(super) fn text(self) -> &'static str {
        ALL.iter().find(|(_, word)| *word == self).map_or("", |(text, _)| text)
    }
}

/// A line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'t> {
    pub(super) thread: &'t str,
    pub(super) word: Word,
    /// What stands between the parentheses; `None` without parentheses.
    pub(super) operand: Option<&'t str>,
    /// The number of the statement, as it is written.
    pub(super) statement: &'t str,
    /// Byte offset of the operation in the line.
    pub(super) at: usize,
}

/// Parses a line.
pub(super) fn line(text: &str) -> Result<Line<'_>, LineError> {
    let Some((thread, rest)) = text.split_once('|') else { return Err(fields(text, 1)) };
    let Some((operation, statement)) = rest.split_once('|') else { return Err(fields(text, 2)) };
    let (at, last) = (thread.len() + 1, text.len() - statement.len());
    if let Some(more) = statement.find('|') {
        let n = text.matches('|').count() + 1;
        return Err(LineError::new(last + more, format!("the line has {n} fields, not 3"), FIELDS));
    }
    name(thread, 0, "thread")?;
    if !is_statement(statement) {
        let reason = match statement {
            "" => "the number of the statement is missing".to_owned(),
            _ => format!("`{}` is not a whole number", short(statement)),
        };
        return Err(LineError::new(last, reason, NUMBER));
    }
    let (word, operand) = match operation.split_once('(') {
        Some((word, rest)) => (word, Some(rest)),
        None => (operation, None),
    };
    let Some((_, kind)) = ALL.iter().find(|(known, _)| *known == word) else {
        return Err(LineError::new(at, format!("`{}` is not an operation", short(operation)), WORDS));
    };
    let operand = match operand {
        None if kind.stands_bare() => None,
        None => return Err(LineError::new(at + word.len(), format!("`{word}` lacks its operand"), OPERAND)),
        Some(rest) => {
            let Some(operand) = rest.strip_suffix(')') else {
                return Err(LineError::new(at + operation.len(), format!("the `)` of `{word}(` is missing"), OPERAND));
            };
            name(operand, at + word.len() + 1, "operand")?;
            Some(operand)
        }
    };
    Ok(Line { thread, word: *kind, operand, statement, at })
}

/// Whether a text is the number of a statement, as a line has it: a whole number of 64 bits.
pub(super) fn is_statement(text: &str) -> bool {
    text.parse::<i64>().is_ok()
}

fn fields(text: &str, n: usize) -> LineError {
    let reason =
        if n == 1 { "the line has 1 field, not 3".to_owned() } else { format!("the line has {n} fields, not 3") };
    LineError::new(text.len(), reason, FIELDS)
}

fn name(text: &str, at: usize, what: &str) -> Result<(), LineError> {
    if text.is_empty() {
        return Err(LineError::new(at, format!("the {what} has no name"), NAME));
    }
    // Nearly all names are ASCII, and have no blank.
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    match text.find(char::is_whitespace) {
        Some(blank) => Err(LineError::new(at + blank, format!("the name of the {what} has a blank"), NAME)),
        None => Ok(()),
    }
}
