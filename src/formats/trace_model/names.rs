//! Names for a model, made from the names of a trace.

use super::statements::OBJECT;
use crate::lang::words::{EXPECTATIONS, PARTICLES, TYPES, is_item_word, is_verb_word};
use std::collections::BTreeSet;

// Maximum length of a name that is made from a name of the trace, in characters.
const LONGEST: usize = 48;

/// The local variable that reads assign to. A read of a reference has one of its own: this name and a number.
pub(super) const LOCAL: &str = "r";

/// The names of a model so far. All of them share one namespace.
#[derive(Default)]
pub(super) struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// Returns a new name that resembles `real`: `first` where nothing of it can be kept. The part behind the last `/`
    /// counts, as the parts before it are packages and makers.
    pub(super) fn add(&mut self, first: &str, real: &str) -> String {
        let mut base = String::new();
        let tail = real.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        for c in tail.chars() {
            match c {
                c if c.is_ascii_alphanumeric() => base.push(c),
                _ if base.is_empty() || base.ends_with('_') => {}
                _ => base.push('_'),
            }
        }
        // The end of a long name says more than its beginning.
        let cut = base.len().saturating_sub(LONGEST);
        base.drain(..cut);
        let mut base = base.trim_matches('_').to_owned();
        if base.is_empty() {
            base.push_str(first);
        } else if base.starts_with(|c: char| c.is_ascii_digit()) || is_word(&base) {
            base = format!("{first}_{base}");
        }
        self.distinct(base)
    }

    fn distinct(&mut self, base: String) -> String {
        let mut name = base.clone();
        let mut number = 1u64;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        name
    }
}

// Whether a word of the language could be taken for the name, or the name of the local variable of every body. Most
// words are names where a name is allowed, but a reader would stumble.
fn is_word(name: &str) -> bool {
    let is_part = PARTICLES.contains(&name) || TYPES.contains(&name) || EXPECTATIONS.contains(&name);
    let is_local = name.strip_prefix(LOCAL).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    is_part || is_verb_word(name) || is_item_word(name) || is_local || name == OBJECT
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_are_sanitized_and_distinct() {
        let mut names = Names::default();
        let mut check = |real: &str, expected: &str| assert_eq!(names.add("x", real), expected, "{real:?}");
        check("0x410d17e0 Lcom/android/music/MusicUtils;.16", "MusicUtils_16");
        check("Lcom/android/music/MusicUtils;.16", "MusicUtils_16_2");
        check("while", "x_while");
        check("post", "x_post");
        check("", "x");
        check("\u{202e}///", "x_2");
        check("7", "x_7");
        check("x_2", "x_2_2");
        check("__", "x_3");
        check("a\nb\"c", "a_b_c");
        check("env/launch#1", "launch_1");
        check(&"y".repeat(100), &"y".repeat(48));
        check("r", "x_r");
    }
}
