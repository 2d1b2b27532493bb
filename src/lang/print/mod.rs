//! Prints a syntax tree in its canonical layout: indentation by four spaces, one statement per line, no unnecessary
//! parentheses.
//!
//! For every tree `t` from the parser, `parse(print(t)) == t`. Comments are not part of the tree, so they are lost.

mod components;
mod expects;
mod exprs;
mod items;
mod ops;
mod stmts;

use super::ast::{Block, File, Item, ItemKind, Name, TextLiteral};

/// Prints a tree as source text.
///
/// # Examples
///
/// ```
/// use raceflip::lang::{Source, parse, print};
///
/// let source = Source::new("a.race", "thread t { x = (1 + (2 * 3)) }")?;
/// let tree = parse(&source).unwrap();
/// assert_eq!(print(&tree), "thread t {\n    x = 1 + 2 * 3\n}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn print(file: &File) -> String {
    let begins_kinds =
        |item: &Item| matches!(item.kind, ItemKind::Use { .. } | ItemKind::Kind(_) | ItemKind::Component(_));
    let mut printer = TreePrinter { with_verbs: file.items.iter().any(begins_kinds), ..TreePrinter::default() };
    for item in &file.items {
        printer.item(item);
        printer.push("\n");
    }
    printer.out
}

/// Returns a text as a string literal of a model: in quotes, with escapes.
pub(crate) fn quoted(text: &str) -> String {
    let mut printer = TreePrinter::default();
    printer.text(text);
    printer.out
}

#[derive(Default)]
struct TreePrinter {
    out: String,
    level: usize,
    /// Whether the file has components or kinds, where `cancel` can be one of their verbs.
    with_verbs: bool,
}

impl TreePrinter {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn name(&mut self, name: &Name) {
        self.push(&name.text);
    }

    fn newline(&mut self) {
        self.out.push('\n');
        for _ in 0..self.level {
            self.out.push_str("    ");
        }
    }

    /// Prints a string literal.
    fn text(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    fn message(&mut self, before: &str, message: Option<&TextLiteral>) {
        if let Some(message) = message {
            self.push(before);
            self.text(&message.text);
        }
    }

    /// Prints elements separated by commas: `a, b`
    fn commas<T>(&mut self, all: &[T], mut one: impl FnMut(&mut Self, &T)) {
        for (index, each) in all.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            one(self, each);
        }
    }

    /// Prints ` {`, each element on a line of its own, and `}`
    fn braces<T>(&mut self, all: &[T], mut one: impl FnMut(&mut Self, &T)) {
        if all.is_empty() {
            self.push(" { }");
            return;
        }
        self.push(" {");
        self.level += 1;
        for each in all {
            self.newline();
            one(self, each);
        }
        self.level -= 1;
        self.newline();
        self.push("}");
    }

    fn block(&mut self, block: &Block) {
        self.braces(&block.stmts, Self::stmt);
    }
}
