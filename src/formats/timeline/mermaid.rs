//! Renders a timeline as a Mermaid `sequenceDiagram`, for issues and Markdown: GitHub and GitLab draw it.
//!
//! Beyond about fifty messages renderers become slow, and readers lose track. So only the start and the end of a longer
//! run are drawn.

use super::{ArrowKind, ColumnId, Gap, GapReason, Item, Mark, RowKind, Timeline, TimelineRow, Window};
use crate::base::clean;
use std::fmt::Write as _;

/// Maximum number of rows in a diagram.
pub const MOST: usize = 50;

// Maximum width of a text. The rest is cut, because a note does not wrap on its own.
const LONGEST: usize = 70;

/// Renders a timeline as a diagram.
#[must_use]
pub fn diagram(timeline: &Timeline) -> String {
    let shorter;
    let timeline = if timeline.items.len() + timeline.ending.len() > MOST {
        let room = MOST.saturating_sub(timeline.ending.len()).max(10);
        shorter = timeline.clone().within(Window::Ends { first: room / 3, last: room - room / 3 });
        &shorter
    } else {
        timeline
    };
    let mut diagram = Diagram { timeline, text: "sequenceDiagram\n".to_owned(), now: 1 };
    diagram.participants();
    for item in &timeline.items {
        match item {
            Item::Row(row) => diagram.row(row),
            Item::Gap(gap) => diagram.gap(gap),
        }
    }
    timeline.ending.iter().for_each(|row| diagram.row(row));
    diagram.text
}

struct Diagram<'t> {
    timeline: &'t Timeline,
    text: String,
    now: u64,
}

/// Escapes a text for Mermaid: `;` would end the statement, `#` begins a character reference, `%%` begins a comment.
fn escape(text: &str) -> String {
    let text = super::layout::shorten(&clean(text), LONGEST);
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ';' | '#' | '%' | '<' | '>' | '"' | '{' | '}' => {
                let _ = write!(escaped, "#{};", c as u32);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

fn id(column: ColumnId) -> String {
    format!("C{}", column.0)
}

impl Diagram<'_> {
    fn line(&mut self, text: &str) {
        self.text.push_str("    ");
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn participants(&mut self) {
        for column in self.timeline.active() {
            let kind = if self.timeline.columns[column].looper { " (looper)" } else { "" };
            let name = escape(&format!("{}{kind}", self.timeline.columns[column].name));
            self.line(&format!("participant {} as {name}", id(column)));
        }
    }

    // Returns all participants, for a note over them.
    fn all(&self) -> Option<String> {
        let columns = self.timeline.active();
        let (first, last) = (columns.first()?, columns.last()?);
        Some(if first == last { id(*first) } else { format!("{},{}", id(*first), id(*last)) })
    }

    fn over_all(&mut self, text: &str) {
        if let Some(all) = self.all() {
            self.line(&format!("Note over {all}: {}", escape(text)));
        }
    }

    fn gap(&mut self, gap: &Gap) {
        let again = if matches!(gap.why, GapReason::Again(_)) { ", the same again" } else { "" };
        if gap.steps > 0 {
            self.over_all(&format!("... {} steps not drawn{again}", gap.steps));
        }
    }

    fn row(&mut self, row: &TimelineRow) {
        if row.kind == RowKind::Clock || row.now != self.now {
            self.now = row.now;
            self.over_all(&format!("{} ms", row.now));
        }
        let Some(column) = row.column else {
            if row.kind != RowKind::Clock {
                self.over_all(&row.what);
            }
            return;
        };
        let colour = match row.mark {
            Some(Mark::Failing) => Some("rgb(255, 220, 220)"),
            Some(Mark::Racing | Mark::Own) => Some("rgb(255, 245, 200)"),
            Some(Mark::Between) => Some("rgb(230, 220, 255)"),
            None => None,
        };
        if let Some(colour) = colour {
            self.line(&format!("rect {colour}"));
        }
        let at = row.site.map_or(String::new(), |s| format!(" (:{})", self.timeline.statements[s].line));
        let number = if row.counts { format!("{} ", row.step) } else { String::new() };
        let ends = if row.ends && row.counts { ", ends" } else { "" };
        let edge = self.timeline.transaction.as_ref().filter(|_| row.counts).map(|of| of.edge(row.step));
        let text = escape(&format!("{number}{}{ends}{at}{}", row.what, edge.unwrap_or_default()));
        let own = id(column);
        match row.arrow {
            Some(arrow) => {
                let to = id(arrow.to);
                let (from, line, to) = match arrow.kind {
                    ArrowKind::Plain | ArrowKind::Front => (own, "->>", to),
                    ArrowKind::Delayed => (own, "-->>", to),
                    ArrowKind::Refused => (own, "-x", to),
                    ArrowKind::Back => (to, "-->>", own),
                };
                self.line(&format!("{from}{line}{to}: {text}"));
            }
            None if row.kind == RowKind::Begin => self.line(&format!("Note over {own}: {text}")),
            None => self.line(&format!("Note right of {own}: {text}")),
        }
        if colour.is_some() {
            self.line("end");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn what_mermaid_would_read_is_escaped() {
        assert_eq!(escape("a#1; b"), "a#35;1#59; b");
        assert_eq!(escape("x\n%%"), "x\\n#37;#37;");
    }
}
