//! Warnings about what static analysis knows to be a mistake.

use super::{RedundantLock, Statics};
use crate::base::Id;
use crate::event::{Site, SiteId};
use crate::lang::ast::Span;
use crate::lang::program::{Expectation, ExpectationKind, OrderWord, SiteRef};
use crate::lang::{Diagnostic, Program, Source};

/// Returns the warnings about a program, in source order: locks that protect nothing, and `never` lines that hold
/// because something never comes. Those that a comment silences are left out. `source` is the text of the program, and
/// `statics` knows the reasons.
#[must_use]
pub fn mistakes(program: &Program, source: &Source, statics: &Statics) -> Vec<Diagnostic> {
    // A block without anything in order beside it may stand for one that the model leaves out.
    let locks = statics.locks().into_iter().filter(|lock| !lock.ordered.is_empty());
    let locks = locks.filter_map(|lock| redundant(program, source, statics, &lock));
    let lines = program.expectations.iter().filter_map(|line| vacuous(source, statics, line));
    let mut all: Vec<Diagnostic> = locks.chain(lines).collect();
    all.retain(|warning| !crate::lang::is_silenced(source, warning));
    all.sort_by_key(|warning| warning.span.start);
    all
}

fn redundant(program: &Program, source: &Source, statics: &Statics, lock: &RedundantLock) -> Option<Diagnostic> {
    let site = program.sites.get(lock.acquire.index())?;
    let place = |id: SiteId| program.sites.get(id.index()).map_or_else(String::new, |site| format!(":{}", site.line));
    let (a, b) = lock.ordered.first()?;
    let reason = match statics.why(*a, *b).first() {
        Some(why) => format!("{} and {} are in order without it: {why}", place(*a), place(*b)),
        None => format!("{} and {} are in order without it", place(*a), place(*b)),
    };
    let message = format!("the lock `{}` protects nothing here", site.place);
    let help = "`raceflip static` has all reasons; `// allow: redundant-lock` above it keeps it without this warning";
    Some(Diagnostic::new(span(source, site)?, message, reason).help(help).silenced_by("redundant-lock"))
}

fn vacuous(source: &Source, statics: &Statics, line: &Expectation) -> Option<Diagnostic> {
    let ExpectationKind::Order { refs, word: OrderWord::Never } = &line.kind else { return None };
    let comes = |of: &&SiteRef| of.sites.iter().any(|site| !statics.occurrences(*site).is_empty());
    let missing = refs.iter().find(|of| !comes(of))?;
    let message = format!("this line holds because `{}` never comes", missing.text);
    let reason = "no thread or task of the model comes to that statement, for these constants";
    let help = "`// allow: never-comes` above it keeps it without this warning";
    let start = source.offset(line.line, 1)?;
    let end = start + line.text.len() as u32;
    let length = source.text().len() as u32;
    let warning = Diagnostic::new(Span { start, end: end.min(length) }, message, reason);
    Some(warning.help(help).silenced_by("never-comes"))
}

fn span(source: &Source, site: &Site) -> Option<Span> {
    let start = source.offset(site.line, site.column)?;
    let word = source.text().get(start as usize..)?.chars().take_while(|c| c.is_alphanumeric()).map(char::len_utf8);
    Some(Span { start, end: start + word.sum::<usize>() as u32 })
}
