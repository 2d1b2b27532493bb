//! Creates sites and labels. The sites of a body are numbered in the order in which its live code is lowered, which is
//! the order of evaluation.

use super::Checker;
use super::scope::Mode;
use crate::event::{BodyId, Site, SiteId, SiteKind};
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, ExprKind, Span};
use crate::lang::library_text;
use crate::lang::program::{LabelDef, NO_SITE};

/// The text of a source, with the start offsets of its lines.
pub(super) struct Lines {
    text: String,
    starts: Vec<usize>,
}

impl Lines {
    pub(super) fn new(text: &str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Self { text: text.to_owned(), starts }
    }

    /// Returns the line and the column (in characters) of an offset, both counted from 1.
    pub(super) fn place(&self, offset: u32) -> (u32, u32) {
        let offset = (offset as usize).min(self.text.len());
        let line = self.starts.partition_point(|&start| start <= offset);
        let column = self.text.get(self.starts[line - 1]..offset).map_or(0, |before| before.chars().count());
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        (narrow(line), narrow(column + 1))
    }

    /// Returns the text of a span on one line.
    pub(super) fn slice(&self, span: Span) -> String {
        let own = || self.text.get(span.start as usize..span.end as usize);
        let text = library_text(span).or_else(own).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The state of a label.
#[derive(Clone, Default)]
pub(super) struct LabelState {
    /// The span of the label in live code; `None` if it occurs only in dead code.
    pub(super) live: Option<Span>,
}

impl Checker {
    /// Creates a site. Returns [`NO_SITE`] in dead code, and in contexts that have no sites.
    pub(super) fn site(&mut self, kind: SiteKind, place: String, at: At) -> SiteId {
        self.of_kind_only(kind, at);
        let Some(body) = self.scope.body else { return NO_SITE };
        if self.scope.dead || !matches!(self.scope.mode, Mode::Body | Mode::Await) {
            return NO_SITE;
        }
        // The reader has no library at hand, so its sites are shown at the component.
        let shown = self.scope.home.filter(|_| library_text(at.0).is_some()).unwrap_or(at.0);
        let (line, column) = self.lines.place(shown.start);
        let label = self.scope.label.map(|i| &self.out.labels[i]);
        let site = Site {
            body,
            ordinal: self.scope.ordinal,
            kind,
            place,
            line,
            column,
            label: label.map(|l| l.name.clone()),
            from: label.and_then(|l| l.from.clone()),
            calls: Vec::new(),
        };
        self.scope.ordinal += 1;
        let id = self.out.sites.add(site);
        self.site_spans.push(at.0);
        id
    }

    // Reports an access of shared memory in the text of a kind.
    fn of_kind_only(&mut self, kind: SiteKind, at: At) {
        use SiteKind::{AtomicRead, Free, Read, Use, Write};
        let in_condition = self.scope.mode == Mode::When && kind == AtomicRead;
        if in_condition || self.scope.of_kind && matches!(kind, Read | Write | Use | Free) {
            self.error_help(
                at,
                "the text of a kind touches shared memory",
                "the platform does not race with the app",
                "keep it in a `state` or an `atomic`, or do it in a callback of the component",
            );
        }
    }

    /// Returns the check site of the statement, at which it fails if no other site names the place better. A statement
    /// has at most one, which is created when it is needed.
    pub(super) fn check_site(&mut self) -> SiteId {
        if let Some(site) = self.scope.check {
            return site;
        }
        let site = self.site(SiteKind::Check, String::new(), self.scope.stmt_at);
        if site != NO_SITE {
            self.scope.check = Some(site);
        }
        site
    }

    /// Enters a label. Returns its index if it is in live code.
    pub(super) fn open_label(&mut self, label: &ast::Label) -> Option<usize> {
        let name = &label.name;
        self.record.label(name, true);
        if self.scope.dead {
            self.labels.entry(name.text.clone()).or_default();
            return None;
        }
        if let Some(first) = self.labels.get(&name.text).and_then(|l| l.live) {
            let problem = Diagnostic::new(
                name.at.0,
                format!("label `@{}` occurs twice", name.text),
                "a label names one statement of the live code",
            );
            self.problems.add(problem.note(first, "first used here").help("choose another label"));
            return None;
        }
        let index = self.out.labels.len();
        self.labels.insert(name.text.clone(), LabelState { live: Some(name.at.0) });
        let from = label.from.as_ref().map(|f| f.text.clone());
        self.out.labels.push(LabelDef { name: name.text.clone(), from });
        Some(index)
    }

    /// Records that the statement of this site calls a body, or performs it as a callback.
    pub(super) fn note_call(&mut self, site: SiteId, body: BodyId) {
        if site != NO_SITE && !self.out.sites[site].calls.contains(&body) {
            self.out.sites[site].calls.push(body);
        }
    }

    /// Records for each site that performs callbacks the bodies that are registered with the listener anywhere.
    pub(super) fn note_callbacks(&mut self) {
        for (site, listener) in std::mem::take(&mut self.performed) {
            let all: Vec<BodyId> = self.registered.get(&listener).into_iter().flatten().copied().collect();
            all.into_iter().for_each(|body| self.note_call(site, body));
        }
    }
}

/// Formats a place as sites name it: `x`, `s.table[]`, `elems.e[]`.
pub(super) fn place_text(e: &ast::Expr) -> String {
    match &e.kind {
        ExprKind::Name(name) => name.clone(),
        ExprKind::Plain(place) => place_text(place),
        ExprKind::SelfThread => "self".into(),
        ExprKind::This => "this".into(),
        ExprKind::Null => "null".into(),
        ExprKind::New(class) => format!("new {}", class.text),
        ExprKind::Call { name, .. } => format!("{}()", name.text),
        ExprKind::Field { object, name } => format!("{}.{}", place_text(object), name.text),
        ExprKind::Method { object, name, .. } => format!("{}.{}()", place_text(object), name.text),
        ExprKind::Index { object, .. } => format!("{}[]", place_text(object)),
        _ => String::new(),
    }
}
