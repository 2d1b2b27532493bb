//! Lowers wait groups, and acquisitions with a limit of time or by hand.

use super::Checker;
use super::items::index;
use super::names::NameMeaning;
use super::scope::LocalMeaning;
use super::sites::place_text;
use super::types::word;
use crate::event::SiteKind;
use crate::lang::ast::{self, At, ExprKind as Ast, SyncMode};
use crate::lang::program::{Expr, ExprKind, GROUP_EXCEPTIONS, Simple, Stmt, SyncForStmt, Type};

const METHODS: [&str; 3] = ["add", "done", "wait"];

impl Checker {
    /// Declares a wait group.
    pub(super) fn group(&mut self, name: &ast::Name) {
        if self.out.groups.is_empty() {
            GROUP_EXCEPTIONS.iter().for_each(|name| _ = self.exception(name));
        }
        self.define(name, NameMeaning::Word(Type::Group, index(self.out.groups.len())));
        self.out.groups.push(name.text.clone());
    }

    /// Returns whether an expression is the name of a wait group.
    pub(super) fn is_group(&self, e: &ast::Expr) -> bool {
        let Ast::Name(name) = &e.kind else { return false };
        match self.local(name) {
            Some(&LocalMeaning::Local { id, .. }) => self.local_type(id) == Type::Group,
            Some(_) => false,
            None => matches!(self.names.get(name).map(|n| &n.named), Some(NameMeaning::Word(Type::Group, _))),
        }
    }

    /// Lowers `w.add(n)`, `w.done()` and `w.wait()`.
    pub(super) fn group_method(
        &mut self,
        object: &ast::Expr,
        name: &ast::Name,
        args: &[ast::Expr],
        whole: &ast::Expr,
    ) -> Option<Expr> {
        let method = name.text.as_str();
        if !METHODS.contains(&method) {
            let help = super::did_you_mean(method, METHODS)
                .unwrap_or_else(|| "a waitgroup has `add(n)`, `done()` and `wait()`".into());
            self.error_help(name.at, format!("a waitgroup has no `{method}`"), "unknown", help);
            return None;
        }
        let wanted = usize::from(method == "add");
        if args.len() != wanted {
            let message = format!("`{method}` takes {}, not {}", super::count(wanted, "argument"), args.len());
            self.error(whole.at, message, "of a waitgroup");
            return None;
        }
        let group = Box::new(self.value(object)?);
        let delta = match args {
            [e] => self.expr_of(e, &Type::Int, "what is added")?,
            _ => word(-1, Type::Int),
        };
        let kind = if method == "wait" { SiteKind::GroupWait } else { SiteKind::GroupAdd };
        let site = self.site(kind, place_text(object), whole.at);
        let kind = match method {
            "wait" => ExprKind::GroupWait { group, site },
            _ => ExprKind::GroupAdd { group, delta: Box::new(delta), site },
        };
        Some(Expr::new(kind, Type::Void))
    }

    fn held(&mut self, mode: SyncMode, object: &ast::Expr, what: &str) -> Option<Expr> {
        match mode {
            SyncMode::Sync => self.monitor(object, what),
            SyncMode::Read | SyncMode::Write => self.rwlock_of(object, mode == SyncMode::Write),
        }
    }

    /// Lowers `acquire l for d`.
    pub(super) fn acquire_for(
        &mut self,
        mode: SyncMode,
        object: &ast::Expr,
        timeout: &ast::Expr,
        at: At,
    ) -> Option<Expr> {
        let lock = self.held(mode, object, "`acquire`");
        let timeout = self.expr_of(timeout, &Type::Int, "a timeout");
        let (lock, timeout) = (Box::new(lock?), Box::new(timeout?));
        let site = self.site(sites(mode).0, place_text(object), at);
        Some(Expr::new(ExprKind::AcquireFor { mode, lock, timeout, site }, Type::Bool))
    }

    /// Lowers `sync l for d { } else { }`.
    pub(super) fn sync_for(
        &mut self,
        (mode, on, timeout): (SyncMode, &ast::Expr, &ast::Expr),
        body: &ast::Block,
        other: Option<&ast::Block>,
        out: &mut Vec<Stmt>,
    ) -> Option<()> {
        let object = self.held(mode, on, "`sync`");
        let timeout = self.expr_of(timeout, &Type::Int, "a timeout");
        let (enter, leave) = sites(mode);
        let acquire = self.site(enter, place_text(on), on.at);
        let body = self.block(body);
        let release = self.site(leave, place_text(on), on.at);
        let other = other.map_or_else(Vec::new, |other| self.block(other));
        let (object, timeout) = (object?, timeout?);
        out.push(Stmt::SyncFor(Box::new(SyncForStmt { mode, object, timeout, body, other, acquire, release })));
        Some(())
    }

    /// Lowers `acquire read rw` and the like. With writers preferred, a writer announces itself first.
    pub(super) fn side(&mut self, acquire: bool, write: bool, on: &ast::Expr, out: &mut Vec<Stmt>) -> Option<()> {
        let lock = self.rwlock_of(on, write)?;
        if acquire && write && self.prefers_writers(&lock) {
            let site = self.site(SiteKind::Announce, place_text(on), on.at);
            out.push(Stmt::Do { op: Simple::Announce(lock.clone()), site });
        }
        let (enter, leave) = sites(if write { SyncMode::Write } else { SyncMode::Read });
        let site = self.site(if acquire { enter } else { leave }, place_text(on), on.at);
        out.push(Stmt::Do { op: Simple::Side { acquire, write, lock }, site });
        Some(())
    }
}

// The kinds of the sites of an acquisition and of its release.
fn sites(mode: SyncMode) -> (SiteKind, SiteKind) {
    match mode {
        SyncMode::Sync => (SiteKind::Acquire, SiteKind::Release),
        SyncMode::Read => (SiteKind::ReadLock, SiteKind::ReadUnlock),
        SyncMode::Write => (SiteKind::WriteLock, SiteKind::WriteUnlock),
    }
}
