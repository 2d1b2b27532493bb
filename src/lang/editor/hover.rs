//! What is shown about the place under the pointer: a name with its declaration, a label with what it selects, and the
//! steps of a statement.

use super::super::ast::Span;
use super::analysis::SourceAnalysis;
use super::names::NameScope;
use crate::base::counted;
use crate::event::{Site, SiteId, SiteKind, labelled};

/// Maximum number of steps that are listed.
const MOST_STEPS: usize = 20;

/// What is shown about a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hover {
    /// The position that it is about.
    pub span: Span,
    /// Text of the model language, such as a declaration.
    pub code: String,
    /// Sentences about it, one in each line.
    pub lines: Vec<String>,
}

impl SourceAnalysis {
    /// Returns what is known about the name or the statement at an offset.
    #[must_use]
    pub fn hover(&self, offset: u32) -> Option<Hover> {
        self.name_hover(offset).or_else(|| self.statement_hover(offset))
    }

    fn name_hover(&self, offset: u32) -> Option<Hover> {
        let found = self.names().at(offset)?;
        let symbol = &self.names().symbols()[found.symbol];
        let mut lines = vec![match symbol.library {
            Some(library) => format!("{} of the library {library}", symbol.what),
            None => symbol.what.to_owned(),
        }];
        if symbol.scope == NameScope::Label {
            lines.extend(self.selected(&symbol.name));
        }
        Some(Hover { span: found.span, code: symbol.detail.clone(), lines })
    }

    // What a label selects.
    fn selected(&self, label: &str) -> Vec<String> {
        let Some(program) = self.program() else { return Vec::new() };
        let selected = labelled(&program.sites, label);
        let steps: Vec<SiteId> =
            selected.into_iter().filter(|site| program.sites[*site].kind != SiteKind::Check).collect();
        if steps.is_empty() {
            return vec!["it selects no step".to_owned()];
        }
        listed("it selects", steps.iter().map(|site| &program.sites[*site]))
    }

    fn statement_hover(&self, offset: u32) -> Option<Hover> {
        let span = self.names().statement_at(offset)?;
        let program = self.program()?;
        let inside = |of: &Span| span.start <= of.start && of.end <= span.end;
        let sites = self.names().sites().iter().filter(|(_, of)| inside(of));
        let mut steps: Vec<SiteId> = sites.map(|(site, _)| *site).collect();
        steps.sort_unstable();
        let can_fail = steps.iter().any(|site| program.sites[*site].kind == SiteKind::Check);
        steps.retain(|site| program.sites[*site].kind != SiteKind::Check);
        let mut lines = if steps.is_empty() {
            vec!["no step of its own".to_owned()]
        } else {
            listed("the statement performs", steps.iter().map(|site| &program.sites[*site]))
        };
        if can_fail {
            lines.push("it can fail, or calls what can fail".to_owned());
        }
        let code = self.text_of(span).split_whitespace().collect::<Vec<_>>().join(" ");
        Some(Hover { span, code, lines })
    }
}

fn listed<'s>(head: &str, sites: impl ExactSizeIterator<Item = &'s Site>) -> Vec<String> {
    let count = sites.len();
    let step = |site: &Site| {
        let place = if site.place.is_empty() { String::new() } else { format!(" `{}`", site.place) };
        format!("- {}{place} ({}:{})", site.kind.word(), site.line, site.column)
    };
    let mut lines = vec![format!("{head} {}:", counted(count as u64, "step"))];
    lines.extend(sites.take(MOST_STEPS).map(step));
    if count > MOST_STEPS {
        lines.push(format!("- and {} more", count - MOST_STEPS));
    }
    lines
}
