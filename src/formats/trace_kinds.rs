//! The kinds of rows in a trace: the words of operations, of other events of a run, and of converted traces.

/// All kinds of rows, sorted.
///
/// A reader needs the whole list, so that it can refuse a misspelled kind, which it would have to ignore otherwise.
const KINDS: &[&str] = &[
    "acquire",
    "add",
    "announce",
    "arrive",
    "ask-job",
    "atomic-read",
    "atomic-write",
    "attachq",
    "await",
    "begin",
    "branch",
    "cancel",
    "cancel-job",
    "cas",
    "channel-read",
    "choose",
    "close",
    "disable",
    "down",
    "enable",
    "end",
    "exchange",
    "fence",
    "fetch-add",
    "fire",
    "fork",
    "free",
    "handler",
    "holds",
    "interrupt",
    "jobexit",
    "join",
    "launch",
    "lift",
    "loop",
    "name",
    "notify",
    "notify-all",
    "now",
    "open-block",
    "pass-barrier",
    "perform",
    "post",
    "quit",
    "quit-safely",
    "read",
    "read-interrupt",
    "read-lock",
    "read-unlock",
    "receive",
    "recv",
    "refused",
    "register",
    "release",
    "request",
    "resume",
    "resumed",
    "return-from-group",
    "return-from-recv",
    "return-from-select",
    "return-from-send",
    "return-from-wait",
    "section",
    "select",
    "send",
    "skip",
    "sleep",
    "spawn-looper",
    "spawn-scope",
    "suspend",
    "suspended",
    "threadexit",
    "threadinit",
    "throw",
    "tick",
    "transactionbegin",
    "transactionend",
    "trigger",
    "unitbegin",
    "unitend",
    "unregister",
    "up",
    "use",
    "wait",
    "wait-for-group",
    "wake",
    "write",
    "write-lock",
    "write-unlock",
    "yield",
];

/// Returns whether rows of this kind exist.
pub(super) fn is_kind(word: &str) -> bool {
    KINDS.binary_search(&word).is_ok()
}

/// Returns all kinds of rows.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::{KINDS, is_kind};
    use crate::event::SiteKind;
    use crate::formats::trace_operation::kind_of_word;
    use std::collections::BTreeSet;

    /// The words between backticks that can be kinds.
    fn words(text: &str) -> impl Iterator<Item = &str> {
        let is_kind = |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        text.split('`').skip(1).step_by(2).filter(is_kind)
    }

    /// The manual has exactly these kinds: in the first column of its table, and in its list of those of converted
    /// traces.
    #[test]
    fn the_manual_has_all_kinds() {
        assert!(KINDS.is_sorted());
        let manual = include_str!("../../docs/formats.md");
        let (_, rest) = manual.split_once("| kinds | of |\n|---|---|\n").unwrap();
        let (table, rest) = rest.split_once("\n\n").unwrap();
        let (_, rest) = rest.split_once("five more kinds:\n\n").unwrap();
        let (list, _) = rest.split_once("\n\n").unwrap();
        let rows = table.lines().filter_map(|row| row.strip_prefix("| ")?.split_once(" | "));
        let of_list = list.lines().map(|line| line.split_once(':').map_or(line, |(words, _)| words));
        let told: BTreeSet<&str> = rows.map(|(kinds, _)| kinds).chain(of_list).flat_map(words).collect();
        assert_eq!(told, KINDS.iter().copied().collect());
    }

    /// Each word that an operation has is a kind, also those that no statement has.
    #[test]
    fn all_words_of_operations_are_kinds() {
        // These kinds of statements are never the word of an operation in a trace.
        let others = [SiteKind::AtomicUpdate, SiteKind::MixedUpdate, SiteKind::AttachQueue, SiteKind::Switch];
        let others = others.into_iter().chain([SiteKind::CloseBlock, SiteKind::Check]).collect::<Vec<_>>();
        for kind in SiteKind::ALL.iter().filter(|kind| !others.contains(kind)) {
            assert!(is_kind(&kind_of_word(kind.word())), "{kind:?}");
        }
        let (_, source) = include_str!("../event/words.rs").split_once("fn word(").unwrap();
        let (source, _) = source.split_once("\nimpl ").unwrap();
        let literals: Vec<&str> = source.split('"').skip(1).step_by(2).collect();
        assert!(literals.len() > 10);
        for word in literals {
            assert!(is_kind(&kind_of_word(word)), "{word}");
        }
    }
}
