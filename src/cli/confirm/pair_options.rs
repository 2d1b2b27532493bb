//! Reads the pairs that the user wants to drive: `--pairs-from FILE` and `--pair SITE~SITE`.

use crate::cli::Refusal;
use crate::cli::io::load::Model;
use crate::cli::io::output::Output;
use crate::detect::Pair;
use crate::formats::pairs::{PairsError, read};
use std::collections::BTreeSet;
use std::path::Path;

// Maximum size of a list in bytes: more than a list of a million pairs.
const MOST_BYTES: u64 = 64 << 20;

// Maximum number of lines without a match that are reported one by one.
const MOST_TOLD: usize = 10;

/// Returns the pairs, sorted; `None` if the user names none.
pub(in crate::cli) fn pairs(
    list: Option<&Path>,
    given: &[String],
    model: &Model,
    out: &mut Output,
) -> Result<Option<Vec<Pair>>, Refusal> {
    if list.is_none() && given.is_empty() {
        return Ok(None);
    }
    let mut all = BTreeSet::new();
    if let Some(path) = list {
        all.extend(of_file(path, model, out)?);
    }
    for text in given {
        let wrong = |why: String| Refusal::new(format_args!("--pair {}: {why}", text));
        let (a, b) = text.split_once('~').ok_or_else(|| wrong("it is not SITE~SITE, as in `@a~@b`".to_owned()))?;
        let line = format!("{} ~ {}", a.trim(), b.trim());
        // The text is a single pair, so the parts of the error about lines and lists are removed.
        let why = |e: PairsError| e.to_string().replace("line 1: ", "").replace("; take it out of the list", "");
        let listed = read(&line, &model.code.setup.sites).map_err(|e| wrong(why(e)))?;
        if let Some(unmatched) = listed.unmatched.first() {
            return Err(wrong(unmatched.to_string().replace("line 1: ", "")));
        }
        all.extend(listed.pairs);
    }
    Ok(Some(all.into_iter().collect()))
}

fn of_file(path: &Path, model: &Model, out: &mut Output) -> Result<Vec<Pair>, Refusal> {
    let name = path.to_string_lossy().into_owned().to_string();
    let refuse = |why: String| Refusal::new(format_args!("cannot use `{name}`: {why}"));
    let about = std::fs::metadata(path).map_err(|e| refuse(e.to_string()))?;
    if about.is_dir() {
        return Err(refuse("it is a folder".to_owned()));
    }
    if about.len() > MOST_BYTES {
        return Err(refuse(format!("it has more than {} MB", MOST_BYTES >> 20)));
    }
    let bytes = std::fs::read(path).map_err(|e| refuse(e.to_string()))?;
    let text = String::from_utf8(bytes)
        .map_err(|e| refuse(format!("it is not UTF-8: byte {}", e.utf8_error().valid_up_to())))?;
    let listed = read(&text, &model.code.setup.sites).map_err(|e| refuse(e.to_string()))?;
    if listed.program.as_ref().is_some_and(|program| *program != format!("{:016x}", model.digest())) {
        out.warning(format_args!(
            "`{name}` was made for another program or other constants: a LINE:COLUMN in it may mean something else here"
        ));
    }
    for unmatched in listed.unmatched.iter().take(MOST_TOLD) {
        out.note(format_args!("{name}: {unmatched}"));
    }
    if listed.unmatched.len() > MOST_TOLD {
        out.note(format_args!("{name}: {} more lines match nothing in this model", listed.unmatched.len() - MOST_TOLD));
    }
    Ok(listed.pairs)
}
