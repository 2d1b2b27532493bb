//! Checks a syntax tree and lowers it to a program: names are resolved, types inferred, constants folded, and accesses
//! numbered.
//!
//! The steps are, in order:
//!
//! - top-level names ([`names`]),
//! - constants with `-D` ([`consts`]),
//! - tables ([`items`], [`memory`]),
//! - bodies ([`stmts`], [`exprs`], [`places`], [`ops`]),
//! - properties and expectations,
//! - the table of uses and guards of references ([`uses`]), if there is no error.
//!
//! A branch that a constant rules out is lowered like any other code, so that its errors are reported, and then
//! dropped: its sites and labels are never created ([`sites`]). If a lowering function returns `None`, it has reported
//! an error, and its caller must not report another one for the same cause.

mod assign;
mod async_tasks;
mod calls;
mod channels;
mod components;
mod consts;
mod control;
mod expects;
mod exprs;
mod flow;
mod fold;
mod groups;
mod items;
mod memory;
mod mixed;
mod names;
mod objects;
mod ops;
mod outcomes;
mod places;
mod platform;
mod posts;
mod problems;
mod properties;
mod record;
mod refs;
mod scope;
mod signatures;
mod sites;
mod stmts;
mod types;
mod uses;
mod verbs;

use super::expand::{Links, expand_linked};
use super::foreign::explain;
use super::program::{BUILT_IN_EXCEPTIONS, ClassDef, Components, ExceptionId, ExceptionScope, Program, TextId, Type};
use super::{Diagnostic, Source, ast, near};
use crate::base::{Id, IndexVec};
use crate::event::{BodyId, ListenerId, SiteId, Uses};
use indexmap::{IndexMap, IndexSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

pub use consts::DefineError;
pub(super) use names::name_of;
pub(super) use record::Recorder;

/// The largest memory of a program, in cells.
pub(super) const MAX_CELLS: u64 = 1_000_000;
/// Limit of the number of threads that start with the app.
pub(crate) const MAX_THREADS: u64 = 1_000;
/// Limit of the number of locks and, separately, of conditions, array elements included.
pub(super) const MAX_LOCKS: u64 = 10_000;
/// Limit of the cells of a local array.
pub(super) const MAX_LOCAL_CELLS: u64 = 10_000;
/// Limit of the values of one quantifier in a property. [`properties`] derives from it the limit of an expanded
/// property.
pub(super) const MAX_TERMS: u64 = 10_000;

/// The check stops after this many errors, because it takes too long to find suggestions for thousands of errors.
const ENOUGH_PROBLEMS: usize = 200;

/// Why the check rejects a model.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("the model has errors")]
pub struct CheckErrors {
    /// The errors in `-D` values, which have no position in the source.
    pub defines: Vec<DefineError>,
    /// The errors in the source, in source order; the first twenty.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks `file`, the tree of `source`, with the constants in `defines` overridden. If a name occurs twice in
/// `defines`, the last value counts.
///
/// # Errors
///
/// Returns [`CheckErrors`] if a value of `defines` fits no constant of the file, or if the file has errors of meaning.
/// It contains all of them, up to a limit.
///
/// # Examples
///
/// ```
/// use raceflip::lang::{Source, check, parse, render};
///
/// let source = Source::new("a.race", "const N = 2\nvar x = 0\nthread t { x = N }\nthread u { y = N }")?;
/// let tree = parse(&source).unwrap();
/// let errors = check(&tree, &source, &[("N".to_owned(), 3)]).unwrap_err();
/// assert!(errors.defines.is_empty());
/// let text = render(&source, &errors.diagnostics, false);
/// assert!(text.starts_with("error: unknown name `y`\n --> a.race:4:12"), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(file: &ast::File, source: &Source, defines: &[(String, i64)]) -> Result<Program, CheckErrors> {
    check_recorded(file, source, defines).0
}

/// Like [`check()`], and returns the names of the text as well. They are empty if its components cannot be written out.
pub(super) fn check_recorded(
    file: &ast::File,
    source: &Source,
    defines: &[(String, i64)],
) -> (Result<Program, CheckErrors>, Recorder) {
    let mut links = Links::default();
    let written = match expand_linked(file, &mut links) {
        Ok(written) => written,
        Err(mut diagnostics) => {
            explain(source.text(), &mut diagnostics);
            let errors = CheckErrors { defines: Vec::new(), diagnostics };
            return (Err(errors), Recorder::default());
        }
    };
    let (mut checker, defines) = checked(written.as_ref().unwrap_or(file), source, defines);
    let recorded = checker.recorded(links);
    if defines.is_empty() && checker.problems.count() == 0 {
        let mut program = checker.out;
        program.uses = uses::uses(&program);
        return (Ok(program), recorded);
    }
    let mut diagnostics = checker.problems.finish();
    explain(source.text(), &mut diagnostics);
    (Err(CheckErrors { defines, diagnostics }), recorded)
}

/// Returns the errors about names that nothing in the tree declares, in source order, the first twenty; and the names
/// that the tree has.
///
/// It is for a tree without the parts that syntax errors have removed. Other errors of the check can be caused by the
/// missing parts, so they are dropped.
pub(super) fn unknown_names(file: &ast::File, source: &Source) -> (Vec<Diagnostic>, Recorder) {
    let mut links = Links::default();
    // A component without its parts, or of a kind without its parts, cannot be written out.
    let Ok(written) = expand_linked(file, &mut links) else { return (Vec::new(), Recorder::default()) };
    let (mut checker, _) = checked(written.as_ref().unwrap_or(file), source, &[]);
    let recorded = checker.recorded(links);
    (checker.problems.finish_unknown(), recorded)
}

fn checked(file: &ast::File, source: &Source, defines: &[(String, i64)]) -> (Checker, Vec<DefineError>) {
    let mut checker = Checker::new(source);
    checker.declare(file);
    let defines = checker.constants(file, source, defines);
    checker.async_exceptions(file);
    checker.tables(file);
    checker.bounds(file);
    checker.bodies(file);
    checker.note_callbacks();
    checker.mark_mixed();
    checker.properties(file);
    checker.expectations(file);
    checker.check_catches();
    checker.check_init();
    (checker, defines)
}

/// The parameters and the result of a body.
#[derive(Clone, Default)]
struct Signature {
    params: Vec<(String, Type)>,
    // `None` if its types have errors.
    result: Option<Type>,
}

/// The state of the check.
struct Checker {
    problems: problems::Problems,
    // Every top-level name, in order of declaration.
    names: IndexMap<String, names::NameEntry>,
    out: Program,
    signatures: IndexVec<BodyId, Signature>,
    listeners: IndexVec<ListenerId, Vec<Type>>,
    text_ids: BTreeMap<String, TextId>,
    exception_ids: BTreeMap<String, ExceptionId>,
    // The names that `expect` lines can use, from live and dead code.
    thrown: IndexSet<String>,
    messages: IndexSet<String>,
    transactions: IndexSet<String>,
    catches: Vec<ast::Name>,
    labels: IndexMap<String, sites::LabelState>,
    lines: sites::Lines,
    // The span of each site, indexed by site.
    site_spans: Vec<ast::Span>,
    mixed: mixed::Mixed,
    // Pairs of calling and called body, in live code.
    calls: BTreeSet<(BodyId, BodyId)>,
    // In live code: the sites that perform the callbacks of a listener, and the bodies that are registered with each
    // listener.
    performed: Vec<(SiteId, ListenerId)>,
    registered: BTreeMap<ListenerId, BTreeSet<BodyId>>,
    scope: scope::Scope,
    components: components::ComponentTables,
    record: record::Recorder,
    // Number of cells that are allocated so far, and number of nodes in the current property.
    cells: u64,
    terms: u64,
}

impl Checker {
    fn new(source: &Source) -> Self {
        let mut classes = IndexVec::new();
        classes.add(ClassDef { name: "Object".into(), fields: Vec::new() });
        Self {
            problems: problems::Problems::default(),
            names: IndexMap::new(),
            out: Program {
                source: Arc::from(source.text()),
                title: String::new(),
                uncaught: ExceptionScope::App,
                caught_fails: false,
                consts: Vec::new(),
                ranges: Vec::new(),
                classes,
                globals: IndexVec::new(),
                threads: Vec::new(),
                pools: Vec::new(),
                thread_values: false,
                locks: Vec::new(),
                conditions: Vec::new(),
                rwlocks: Vec::new(),
                semaphores: Vec::new(),
                handles: crate::lang::lexer::cancels_messages(source.text()),
                groups: Vec::new(),
                channels: Vec::new(),
                barriers: Vec::new(),
                handlers: Vec::new(),
                listeners: IndexVec::new(),
                events: IndexVec::new(),
                components: Components::default(),
                bodies: IndexVec::new(),
                init: None,
                objects: Vec::new(),
                properties: Vec::new(),
                sites: IndexVec::new(),
                uses: Uses::default(),
                labels: Vec::new(),
                expectations: Vec::new(),
                declares_transactions: false,
                with_units: Vec::new(),
                texts: IndexVec::new(),
                exceptions: BUILT_IN_EXCEPTIONS.iter().map(|&e| e.to_owned()).collect(),
            },
            signatures: IndexVec::new(),
            listeners: IndexVec::new(),
            text_ids: BTreeMap::new(),
            exception_ids: BUILT_IN_EXCEPTIONS.iter().enumerate().map(|(i, &e)| (e.to_owned(), Id::new(i))).collect(),
            thrown: IndexSet::new(),
            messages: IndexSet::new(),
            transactions: IndexSet::new(),
            catches: Vec::new(),
            labels: IndexMap::new(),
            lines: sites::Lines::new(source.text()),
            site_spans: Vec::new(),
            mixed: mixed::Mixed::default(),
            calls: BTreeSet::new(),
            performed: Vec::new(),
            registered: BTreeMap::new(),
            scope: scope::Scope::default(),
            components: components::ComponentTables::default(),
            record: record::Recorder::default(),
            cells: 0,
            terms: 0,
        }
    }

    /// Returns whether there are so many errors that the search for more stops.
    fn enough(&self) -> bool {
        self.problems.count() >= ENOUGH_PROBLEMS
    }

    /// Reports an error without advice.
    fn error(&mut self, at: ast::At, message: impl Into<String>, reason: impl Into<String>) {
        self.problems.add(Diagnostic::new(at.0, message, reason));
    }

    /// Reports an error with advice.
    fn error_help(
        &mut self,
        at: ast::At,
        message: impl Into<String>,
        reason: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems.add(Diagnostic::new(at.0, message, reason).help(help));
    }

    /// Returns the number of a text, and adds the text if it is new.
    fn text(&mut self, text: &str) -> TextId {
        if self.scope.dead {
            return TextId(0);
        }
        if let Some(&id) = self.text_ids.get(text) {
            return id;
        }
        let id = self.out.texts.add(text.to_owned());
        self.text_ids.insert(text.to_owned(), id);
        id
    }
}

/// Returns "did you mean `x`?", if a candidate is near.
fn did_you_mean<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    near(word, candidates).map(|c| format!("did you mean `{c}`?"))
}

/// Formats a number with its noun: `1 argument`, `2 arguments`
fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
