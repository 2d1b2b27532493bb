//! Checks the words and the width of comments and messages.

use crate::tidy::rust_files;

/// Maximum width of a comment line, in columns.
const WIDEST_COMMENT: usize = 120;

/// Words and phrases that comments and messages do not use, each with words of the field that say the same.
const DIALECT: [(&str, &str); 16] = [
    ("anybody", "name the actor"),
    ("brought about", "forced"),
    ("come to an end", "end"),
    ("comes to an end", "ends"),
    ("for ever", "forever"),
    ("goes round", "repeats a cycle"),
    ("how-manieth", "n-th, ordinal"),
    ("is told", "is reported"),
    ("are told", "are reported"),
    ("made again", "replayed"),
    ("nobody", "name the actor"),
    ("somebody", "name the actor"),
    ("speak of", "name"),
    ("speaks of", "names"),
    ("stands at", "is pending at"),
    ("whoever", "name the actor"),
];

/// Returns the lines of a text that are comments, each with its number, its text without the slashes, and its width.
/// Code in a fence, such as a test in the documentation, does not count.
fn comments(text: &str) -> Vec<(usize, &str, usize)> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (number, line) in (1..).zip(text.lines()) {
        let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
        let comment = comment.trim_start_matches(['/', '!']).trim();
        if comment.starts_with("```") && !comment.starts_with("````") {
            in_fence = !in_fence;
        } else if !in_fence {
            found.push((number, comment, line.chars().count()));
        }
    }
    found
}

/// Returns what is wrong with the comments of a file.
fn wrong_comments(path: &str, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (number, comment, width) in comments(text) {
        if width > WIDEST_COMMENT {
            wrong.push(format!("{path}:{number}: {width} columns; at most {WIDEST_COMMENT} are allowed"));
        }
        if comment == "The same." {
            wrong.push(format!("{path}:{number}: `The same.` describes nothing"));
        }
    }
    wrong.extend(dialect(path, comments(text).into_iter().map(|(number, comment, _)| (number, comment))));
    wrong
}

/// Returns the words of the old dialect in the messages and help texts of a file. They are in its code: no name of a
/// program consists of these words.
fn wrong_messages(path: &str, text: &str) -> Vec<String> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"));
    dialect(path, lines.map(|(number, line)| (number, line.trim().trim_end_matches('\\').trim_end())))
}

/// Returns the words of the old dialect in some lines of a file. A phrase may continue on the next line.
fn dialect<'t>(path: &str, lines: impl Iterator<Item = (usize, &'t str)>) -> Vec<String> {
    let (mut all, mut starts, mut wrong) = (String::new(), Vec::new(), Vec::new());
    for (number, line) in lines {
        starts.push((all.len(), number));
        all.push_str(&line.to_lowercase());
        all.push(' ');
    }
    for (word, better) in DIALECT {
        for (at, _) in all.match_indices(word) {
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            if is_part(all[..at].chars().next_back()) || is_part(all[at + word.len()..].chars().next()) {
                continue;
            }
            let line = starts.iter().rfind(|(start, _)| *start <= at).map_or(0, |(_, number)| *number);
            wrong.push(format!("{path}:{line}: `{word}`; better: {better}"));
        }
    }
    wrong
}

#[test]
fn the_old_dialect_does_not_come_back() {
    let files = ["src", "tests", "benches"].map(rust_files).into_iter().flatten();
    let mut wrong: Vec<String> = files.flat_map(|(path, text)| wrong_comments(&path, &text)).collect();
    wrong.extend(rust_files("src").iter().flat_map(|(path, text)| wrong_messages(path, text)));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let bad = "// Whoever\nlet x = \"somebody\"; // nobody\n/// comes to\n/// an end\n/// ```\n/// // whoever\n/// ```\n/// The same.\n";
    let found: Vec<String> = wrong_comments("x", &format!("{bad}// {}\n", "y".repeat(120)));
    let lines: Vec<&str> = found.iter().filter_map(|text| text.split(':').nth(1)).collect();
    assert_eq!(lines, ["8", "9", "3", "1"], "{found:?}");
    let told = wrong_messages("x", "// nobody\nlet a = \"it is \\\n    told\"; let for_ever = \"for every\";\n");
    assert_eq!(told, ["x:2: `is told`; better: is reported"]);
}
