//! Lowers properties: quantifiers are expanded over their constant ranges, and the rest is lowered without sites. Also
//! checks the operations of `init`.

use super::scope::{LocalMeaning, Mode, Scope};
use super::types::{constant, word};
use super::{Checker, MAX_TERMS};
use crate::base::Id;
use crate::event::{BodyId, SiteKind};
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, ItemKind, Prop};
use crate::lang::program::{Expr, ExprKind, Property, Type};
use std::collections::BTreeSet;

/// Limit of the values of all quantifiers of one property, inner ones counted for each value of the outer ones.
const MAX_VALUES: u64 = 20 * MAX_TERMS;

impl Checker {
    /// Lowers every property.
    pub(super) fn properties(&mut self, file: &ast::File) {
        for item in &file.items {
            if let ItemKind::Property { name, when, prop } = &item.kind {
                self.scope = Scope { mode: Mode::Property, stmt_at: item.at, ..Scope::default() };
                self.terms = 0;
                if let Some(expr) = self.prop(prop) {
                    self.out.properties.push(Property { name: name.text.clone(), when: *when, expr });
                }
            }
        }
        self.scope = Scope::default();
    }

    fn prop(&mut self, prop: &Prop) -> Option<Expr> {
        match prop {
            Prop::Expr(e) => self.expr_of(e, &Type::Bool, "a property"),
            Prop::Quantified { all, name, range, prop } => {
                let from = self.constant_of(&range.from, &Type::Int, "the start of a range");
                let to = self.constant_of(&range.to, &Type::Int, "the end of a range");
                let (Some(from), Some(to)) = (from, to) else {
                    self.in_block(|c| {
                        c.bind(name, LocalMeaning::Broken);
                        c.prop(prop)
                    });
                    return None;
                };
                let len = (i128::from(to) - i128::from(from)).max(0);
                if len > i128::from(MAX_TERMS) {
                    self.too_many_terms(range.to.at);
                    return None;
                }
                if len == 0 {
                    // The body is lowered all the same, to report its errors.
                    self.in_dead(true, |c| c.with_value(name, from, prop))?;
                }
                let mut terms = Vec::new();
                for value in from..to.max(from) {
                    self.terms += 1;
                    if self.terms > MAX_VALUES {
                        self.too_many_terms(range.to.at);
                        return None;
                    }
                    terms.push(self.with_value(name, value, prop)?);
                }
                Some(balanced(*all, terms))
            }
        }
    }

    fn with_value(&mut self, name: &ast::Name, value: i64, prop: &Prop) -> Option<Expr> {
        self.in_block(|c| {
            c.bind(name, LocalMeaning::Value(value));
            c.prop(prop)
        })
    }

    fn too_many_terms(&mut self, at: At) {
        let message = "the quantifier has too many values";
        let limit = format!(
            "a quantifier ranges over at most {MAX_TERMS} values, and all quantifiers of a property together over {MAX_VALUES}"
        );
        self.error(at, message, limit);
    }

    /// Checks that neither `init` nor a task that it calls contains an operation that waits for other threads or starts
    /// them. `init` runs before anything else.
    pub(super) fn check_init(&mut self) {
        let Some(init) = self.out.init else { return };
        // All bodies that `init` calls, directly or through others.
        let mut reached = BTreeSet::from([init]);
        let mut open = vec![init];
        while let Some(body) = open.pop() {
            for &(_, callee) in self.calls.range((body, BodyId(0))..=(body, BodyId(u32::MAX))) {
                if reached.insert(callee) {
                    open.push(callee);
                }
            }
        }
        let bad = self.out.sites.ids().find(|id| {
            let site = &self.out.sites[*id];
            reached.contains(&site.body) && !harmless(site.kind)
        });
        let Some(id) = bad else { return };
        let site = &self.out.sites[id];
        let (word, body) = (site.kind.word(), &self.out.bodies[site.body]);
        let message = if site.body == init {
            format!("`{word}` cannot be used in `init`")
        } else {
            format!("`{word}` cannot be used in `{}`, which `init` calls", body.name)
        };
        let span = self.site_spans[id.index()];
        let problem = Diagnostic::new(span, message, "`init` runs before everything else, without interruption");
        self.problems.add(problem.help("do it in a thread"));
    }
}

/// Returns whether `init` may contain the operation: accesses of memory, and operations that cannot block while no
/// thread runs.
fn harmless(kind: SiteKind) -> bool {
    use SiteKind as K;
    matches!(
        kind,
        K::Read
            | K::Write
            | K::AtomicRead
            | K::AtomicWrite
            | K::AtomicUpdate
            | K::MixedRead
            | K::MixedWrite
            | K::MixedUpdate
            | K::Use
            | K::Free
            | K::Check
            | K::Skip
            | K::Yield
            | K::Acquire
            | K::Release
            | K::Notify
            | K::ReadLock
            | K::Announce
            | K::WriteLock
            | K::ReadUnlock
            | K::WriteUnlock
            | K::Up
            | K::Enable
            | K::Disable
            | K::Register
            | K::Unregister
    )
}

/// Joins all terms by `&&` (or `||`), left to right, as a balanced tree, so that its depth is logarithmic.
fn balanced(all: bool, terms: Vec<Expr>) -> Expr {
    let mut terms = terms;
    terms.retain(|t| constant(t) != Some(i64::from(all)));
    if let Some(decided) = terms.iter().position(|t| constant(t).is_some()) {
        terms.truncate(decided + 1);
    }
    while terms.len() > 1 {
        let mut joined = Vec::with_capacity(terms.len().div_ceil(2));
        let mut rest = terms.into_iter();
        while let Some(left) = rest.next() {
            joined.push(match rest.next() {
                None => left,
                Some(right) => {
                    let (left, right) = (Box::new(left), Box::new(right));
                    let kind = if all { ExprKind::And(left, right) } else { ExprKind::Or(left, right) };
                    Expr::new(kind, Type::Bool)
                }
            });
        }
        terms = joined;
    }
    terms.pop().unwrap_or_else(|| word(i64::from(all), Type::Bool))
}
