//! Lowers compound statements. Conditions on constants are folded: a branch that cannot run is dropped.

use super::Checker;
use super::places::{Iterated, set_site};
use super::scope::LocalMeaning;
use super::sites::place_text;
use super::types::{article, constant};
use crate::event::SiteKind;
use crate::lang::ast::{self, Cond, Else, Over, StmtKind as Ast, SyncMode};
use crate::lang::program::{ExceptionId, Expr, ExprKind, Stmt, Type};
use crate::world::Prefer;

impl Checker {
    /// Lowers a compound statement.
    pub(super) fn compound(&mut self, stmt: &Ast, out: &mut Vec<Stmt>) -> Option<()> {
        match stmt {
            Ast::If { cond, then, other } => self.if_(cond, then, other.as_ref(), out)?,
            Ast::While { cond, body } => {
                let cond = self.cond(cond);
                let known = cond.as_ref().and_then(constant);
                let body = self.in_dead(known == Some(0), |c| c.loop_body(body));
                match (cond?, known) {
                    (_, Some(0)) => {}
                    (_, Some(_)) => out.push(Stmt::Loop { body }),
                    (cond, None) => out.push(Stmt::While { cond, body }),
                }
            }
            Ast::Loop { body } => {
                let body = self.loop_body(body);
                out.push(Stmt::Loop { body });
            }
            Ast::For { name, over, body } => self.for_(name, over, body, out)?,
            Ast::Try { body, catch, finally } => {
                let body = self.block(body);
                let mut catches = Vec::new();
                for one in catch {
                    let exception = one.name.as_ref().map(|name| {
                        self.catches.push(name.clone());
                        self.exception(&name.text)
                    });
                    let block = self.block(&one.body);
                    catches.push((exception, block));
                }
                let finally = finally.as_ref().map(|f| self.block(f));
                out.push(Stmt::Try { body, catch: catches, finally });
            }
            Ast::Sync { mode, object, timeout: Some(timeout), body, other } => {
                self.sync_for((*mode, object, timeout), body, other.as_ref(), out)?;
            }
            Ast::Sync { mode: SyncMode::Sync, object, body, .. } => self.sync(object, body, out)?,
            Ast::Sync { mode, object, body, .. } => self.read_write(*mode == SyncMode::Write, object, body, out)?,
            Ast::Side { acquire, mode, object } => self.side(*acquire, *mode == SyncMode::Write, object, out)?,
            Ast::Select { cases } => {
                self.suspends(self.scope.stmt_at, "`select`")?;
                self.select(cases, out)?;
            }
            Ast::Transaction { name, body } => {
                self.out.declares_transactions = true;
                let name = name.as_ref().map(|name| {
                    self.transactions.insert(name.text.clone());
                    self.text(&name.text)
                });
                let body = self.block(body);
                out.push(Stmt::Transaction { name, body });
            }
            Ast::JobBlock { kind, body } => self.job_block(*kind, body, out)?,
            _ => unreachable!("not a compound statement"),
        }
        Some(())
    }

    /// Returns the number of an exception, and adds the exception if it is new.
    pub(super) fn exception(&mut self, name: &str) -> ExceptionId {
        if let Some(&id) = self.exception_ids.get(name) {
            return id;
        }
        if self.scope.dead {
            return ExceptionId(0);
        }
        let id = self.out.exceptions.add(name.to_owned());
        self.exception_ids.insert(name.to_owned(), id);
        id
    }

    fn cond(&mut self, cond: &Cond) -> Option<Expr> {
        match cond {
            Cond::Expr(e) => self.truth(e),
            Cond::Star(at) => {
                let site = self.site(SiteKind::Branch, String::new(), *at);
                Some(Expr::new(ExprKind::Star { site }, Type::Bool))
            }
        }
    }

    fn if_(&mut self, cond: &Cond, then: &ast::Block, other: Option<&Else>, out: &mut Vec<Stmt>) -> Option<()> {
        let cond = self.cond(cond);
        let known = cond.as_ref().and_then(constant);
        let then = self.in_dead(known == Some(0), |c| c.block(then));
        let other = self.in_dead(known.is_some_and(|value| value != 0), |c| match other {
            None => Vec::new(),
            Some(Else::Block(block)) => c.block(block),
            Some(Else::If(stmt)) => {
                let mut stmts = Vec::new();
                c.stmt(stmt, &mut stmts);
                stmts
            }
        });
        match (cond?, known) {
            (cond, None) => out.push(Stmt::If { cond, then, other }),
            (_, Some(value)) => {
                let taken = if value != 0 { then } else { other };
                if !taken.is_empty() {
                    out.push(Stmt::Block(taken));
                }
            }
        }
        Some(())
    }

    pub(super) fn loop_body(&mut self, body: &ast::Block) -> Vec<Stmt> {
        self.scope.loops += 1;
        let body = self.block(body);
        self.scope.loops -= 1;
        body
    }

    fn for_(&mut self, name: &ast::Name, over: &Over, body: &ast::Block, out: &mut Vec<Stmt>) -> Option<()> {
        match over {
            Over::Range(range) => {
                let from = self.expr_of(&range.from, &Type::Int, "the start of a range");
                let to = self.expr_of(&range.to, &Type::Int, "the end of a range");
                let (local, body) = self.in_block(|c| {
                    let local = c.declare_local(name, Type::Int, true);
                    (local, c.loop_body(body))
                });
                out.push(Stmt::ForRange { local, from: from?, to: to?, body });
            }
            Over::List(e) => {
                let (mut list, of) = match self.iterated(e) {
                    Some(Iterated::List(list, of)) => (list, of),
                    Some(Iterated::Channel(channel, of)) => {
                        self.suspends(e.at, "an iteration over a channel")?;
                        out.push(self.for_channel(name, (channel, of), e, body));
                        return Some(());
                    }
                    None => {
                        // The body is lowered all the same, to report its errors.
                        self.in_block(|c| {
                            c.bind(name, LocalMeaning::Broken);
                            c.loop_body(body)
                        });
                        return None;
                    }
                };
                let site = self.site(SiteKind::Read, place_text(e), e.at);
                set_site(&mut list, site);
                let (local, body) = self.in_block(|c| {
                    let local = c.declare_local(name, of, true);
                    (local, c.loop_body(body))
                });
                out.push(Stmt::ForList { local, list, body, site });
            }
        }
        Some(())
    }

    // Lowers a block that holds a lock.
    fn held_block(&mut self, body: &ast::Block) -> Vec<Stmt> {
        self.scope.held += 1;
        let body = self.block(body);
        self.scope.held -= 1;
        body
    }

    fn sync(&mut self, on: &ast::Expr, body: &ast::Block, out: &mut Vec<Stmt>) -> Option<()> {
        let object = self.monitor(on, "`sync`");
        let acquire = self.site(SiteKind::Acquire, place_text(on), on.at);
        let body = self.held_block(body);
        let release = self.site(SiteKind::Release, place_text(on), on.at);
        out.push(Stmt::Sync { object: object?, body, acquire, release });
        Some(())
    }

    fn read_write(&mut self, write: bool, on: &ast::Expr, body: &ast::Block, out: &mut Vec<Stmt>) -> Option<()> {
        let object = self.rwlock_of(on, write);
        let text = place_text(on);
        // With writers preferred, a writer announces itself in a step of its own before it acquires the lock.
        let announces = write && object.as_ref().is_some_and(|object| self.prefers_writers(object));
        let announce = announces.then(|| self.site(SiteKind::Announce, text.clone(), on.at));
        let (enter, leave) = if write {
            (SiteKind::WriteLock, SiteKind::WriteUnlock)
        } else {
            (SiteKind::ReadLock, SiteKind::ReadUnlock)
        };
        let acquire = self.site(enter, text.clone(), on.at);
        let body = self.held_block(body);
        let release = self.site(leave, text, on.at);
        out.push(Stmt::Rw { object: object?, write, body, announce, acquire, release });
        Some(())
    }

    /// Lowers an operand that must be a reader-writer lock.
    pub(super) fn rwlock_of(&mut self, on: &ast::Expr, write: bool) -> Option<Expr> {
        let word = if write { "`write`" } else { "`read`" };
        let object = self.value(on)?;
        if object.ty == Type::RwLock {
            return Some(object);
        }
        let ty = self.name_of(&object.ty);
        let help = match object.ty {
            Type::Lock | Type::Object(_) => "hold a lock or object with `sync`",
            _ => "declare it as `rwlock name`",
        };
        self.error_help(on.at, format!("{word} needs a rwlock"), format!("this is {}", article(&ty)), help);
        None
    }

    /// Returns whether the lock prefers writers. For a lock that is known only at run time: whether any lock does.
    pub(super) fn prefers_writers(&self, object: &Expr) -> bool {
        let locks = &self.out.rwlocks;
        match constant(object).and_then(|i| usize::try_from(i).ok()) {
            Some(index) => locks.get(index).is_some_and(|lock| lock.prefer == Prefer::Writers),
            None => locks.iter().any(|lock| lock.prefer == Prefer::Writers),
        }
    }
}
