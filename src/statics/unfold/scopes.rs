//! Blocks with something to do on every way out: locks, `try`, loops.

use super::super::graph::{Blocks, Ctx, Held, Node, NodeKind, Pause, Sync};
use super::Unfolder;
use super::state::{Slot, State};
use crate::event::SiteId;
use crate::lang::program::{ExceptionId, NO_SITE, Stmt};

/// A block that control is in.
#[derive(Debug)]
pub(super) enum Scope<'p> {
    Loop {
        breaks: Vec<State>,
        continues: Vec<State>,
    },
    Finally(&'p [Stmt]),
    /// A block that releases a lock at its end, with the blocks around it.
    Block {
        release: SiteId,
        outer: (Blocks, u32),
    },
    /// A block of an async task, with the site of its end, and the jobs that are launched inside.
    Jobs(SiteId, Vec<Ctx>),
    /// What is inside may throw to this node.
    Handler(Node),
}

impl<'p> Unfolder<'p> {
    /// Leaves all scopes down to `depth`: runs what each of them does at its end.
    pub(super) fn unwind(&mut self, state: &mut State, depth: usize) {
        let saved = (self.blocks.clone(), self.around);
        let mut left = Vec::new();
        while self.scopes.len() > depth {
            let Some(scope) = self.scopes.pop() else { break };
            self.leave(&scope, state);
            left.push(scope);
        }
        self.scopes.extend(left.into_iter().rev());
        (self.blocks, self.around) = saved;
    }

    fn leave(&mut self, scope: &Scope<'p>, state: &mut State) {
        match scope {
            Scope::Loop { .. } | Scope::Handler(_) => {}
            Scope::Finally(block) => self.block(block, state),
            Scope::Block { release, outer } => {
                self.emit(state, NodeKind::Plain, *release);
                (self.blocks, self.around) = outer.clone();
            }
            Scope::Jobs(close, jobs) => {
                self.pause(Pause::Other, *close, state);
                for job in jobs {
                    self.emit(state, NodeKind::Sync(Sync::Join(*job)), NO_SITE);
                }
            }
        }
    }

    /// Walks a block that holds a lock.
    pub(super) fn locked(
        &mut self,
        held: Option<Held>,
        (acquire, release): (SiteId, SiteId),
        body: &'p [Stmt],
        state: &mut State,
    ) {
        let outer = (self.blocks.clone(), self.around);
        self.blocks.locks.extend(held);
        self.blocks.sites.push((acquire, held.is_some()));
        self.renumber_blocks();
        self.scopes.push(Scope::Block { release, outer });
        self.block(body, state);
        if let Some(scope) = self.scopes.pop() {
            self.leave(&scope, state);
        }
    }

    /// Notes the number of the present set of blocks.
    pub(super) fn renumber_blocks(&mut self) {
        let next = self.graph.around.len() as u32;
        self.around = *self.all_blocks.entry(self.blocks.clone()).or_insert(next);
        if self.around == next {
            self.graph.around.push(self.blocks.clone());
        }
    }

    /// Walks a block of an async task, which waits at its end.
    pub(super) fn job_block(&mut self, body: &'p [Stmt], (open, close): (SiteId, SiteId), state: &mut State) {
        self.emit(state, NodeKind::Plain, open);
        self.scopes.push(Scope::Jobs(close, Vec::new()));
        self.block(body, state);
        if let Some(scope) = self.scopes.pop() {
            self.leave(&scope, state);
        }
    }

    /// Notes a job that belongs to the innermost block around, if there is one.
    pub(super) fn note_child(&mut self, child: Ctx) {
        let block = self.scopes.iter_mut().rev().find_map(|scope| match scope {
            Scope::Jobs(_, jobs) => Some(jobs),
            _ => None,
        });
        block.into_iter().for_each(|jobs| jobs.push(child));
    }

    /// Walks a `try`. Every node inside has a way to its handlers.
    pub(super) fn try_stmt(
        &mut self,
        body: &'p [Stmt],
        catch: &'p [(Option<ExceptionId>, Vec<Stmt>)],
        finally: Option<&'p [Stmt]>,
        state: &mut State,
    ) {
        let unknown = self.all_unknown(state);
        let thrown = |node| State { node: Some(node), locals: unknown.clone() };
        let failed = finally.map(|block| {
            self.scopes.push(Scope::Finally(block));
            let head = self.node(NodeKind::Plain, crate::lang::program::NO_SITE);
            self.scopes.push(Scope::Handler(head));
            (block, head)
        });
        if catch.is_empty() {
            self.mark(state);
            self.block(body, state);
        } else {
            let head = self.node(NodeKind::Plain, crate::lang::program::NO_SITE);
            self.scopes.push(Scope::Handler(head));
            self.mark(state);
            self.block(body, state);
            self.scopes.pop();
            for (_, block) in catch {
                let mut caught = thrown(head);
                self.block(block, &mut caught);
                *state = self.join_of(state, caught);
            }
        }
        if let Some((block, head)) = failed {
            self.scopes.pop();
            self.scopes.pop();
            self.block(block, state);
            // The exception goes on behind this copy of the block.
            self.block(block, &mut thrown(head));
        }
    }

    fn all_unknown(&self, state: &State) -> Vec<Slot> {
        let forget = |slot: &Slot| match slot {
            Slot::One(_) => Slot::One(super::Val::Unknown),
            Slot::Many(vals) => Slot::Many(vec![super::Val::Unknown; vals.len()]),
        };
        state.locals.iter().map(forget).collect()
    }

    /// Joins a state with another one in its place.
    pub(super) fn join_of(&mut self, state: &mut State, other: State) -> State {
        let state = state.take();
        self.join(state, other)
    }
}
