//! FIFO and NOPRE (DroidRacer, figure 6; delayed posts: section 4.2): which ended tasks of a looper are before a task that begins.
//!
//! Both ask what is before the *post* of the task, so that the state at the post decides. For NOPRE it is enough to look at the last task of each chain of the looper
//! whose begin is before the post: the earlier ones are st-before it. For FIFO, at the last task of each delay that each chain has posted: the earlier ones are before
//! it by FIFO, unless they had not ended when it began (the queue was no queue then: somebody posted to the front and did not say so).

use super::state::State;
use crate::detect::clock::{ChainId, Clock, Point};
use crate::trace::{TaskNo, ThreadNo};
use crate::world::Class;
use std::sync::Arc;

/// A task that waits to begin.
#[derive(Clone, Debug)]
pub(super) struct Posted {
    /// By whom.
    pub(super) poster: ThreadNo,
    /// What is before the post, and the post.
    pub(super) state: State,
    /// Its row in its poster's chain, and its place there; none if the environment posted it.
    pub(super) row: Option<(ChainId, usize, usize)>,
    /// The task in which it was posted, or its event enabled.
    pub(super) parent: Option<TaskNo>,
}

/// A task that has ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// Its last epoch.
    pub(super) end: Point,
    /// What is before its end, and the end.
    pub(super) state: State,
    /// The posts of which the order is known, if all that belongs before it had ended when it began: what a message of its class comes after of those up to here is before it.
    pub(super) asked: Option<Arc<Clock>>,
}

/// The posts and tasks of one chain.
#[derive(Clone, Default, Debug)]
pub(super) struct Log {
    // The tasks that ran on it. invariant: ascending by their first epoch
    tasks: Vec<(u32, TaskNo)>,
    rows: Vec<Row>,
}

// What the chain has posted to one looper in one way. Or what of the environment's posts began on it: whoever knows the begin comes after the post.
#[derive(Clone, Debug)]
struct Row {
    looper: ThreadNo,
    fired: bool,
    class: Class,
    // invariant: ascending by epoch
    posts: Vec<Post>,
}

#[derive(Clone, Debug)]
struct Post {
    epoch: u32,
    task: TaskNo,
    // When it began, all before it in the row had ended, and so on back to the first.
    covers: bool,
}

impl Log {
    /// A task begins on the chain.
    pub(super) fn began(&mut self, epoch: u32, task: TaskNo) {
        self.tasks.push((epoch, task));
    }

    /// The chain posts a task.
    pub(super) fn posted(
        &mut self,
        (chain, epoch): (ChainId, u32),
        looper: ThreadNo,
        (task, class): (TaskNo, Class),
    ) -> (ChainId, usize, usize) {
        let at = self.row(looper, false, class);
        let posts = &mut self.rows[at].posts;
        posts.push(Post { epoch, task, covers: false });
        (chain, at, posts.len() - 1)
    }

    /// A task begins on the chain that the environment has posted.
    pub(super) fn fired(&mut self, epoch: u32, looper: ThreadNo, (task, class): (TaskNo, Class)) {
        let at = self.row(looper, true, class);
        self.rows[at].posts.push(Post { epoch, task, covers: true });
    }

    fn row(&mut self, looper: ThreadNo, fired: bool, class: Class) -> usize {
        let same = |row: &Row| row.looper == looper && row.fired == fired && row.class == class;
        self.rows.iter().position(same).unwrap_or_else(|| {
            self.rows.push(Row { looper, fired, class, posts: Vec::new() });
            self.rows.len() - 1
        })
    }

    /// The task that was posted before another in the same way.
    pub(super) fn before(&self, row: usize, at: usize) -> Option<TaskNo> {
        Some(self.rows[row].posts[at.checked_sub(1)?].task)
    }

    /// The last task that began on the chain by this epoch.
    pub(super) fn last_begun(&self, epoch: u32) -> Option<TaskNo> {
        // What is known last is asked for most.
        let early = match self.tasks.last() {
            Some((begin, _)) if *begin <= epoch => self.tasks.len(),
            _ => self.tasks.partition_point(|(begin, _)| *begin <= epoch),
        };
        self.tasks[..early].last().map(|(_, task)| *task)
    }

    pub(super) fn last_task(&self) -> Option<TaskNo> {
        self.tasks.last().map(|(_, task)| *task)
    }

    /// The tasks of a looper that the chain has posted by this epoch, or the environment, if they began on it by that epoch (any path counts), and that begin before a message of this class: those that
    /// have ended, as far as none of them is before another; and those that should have begun and ended, and have not.
    pub(super) fn fifo(
        &self,
        (posted, fired): (u32, u32),
        looper: ThreadNo,
        (task, class): (TaskNo, Class),
        ended: impl Fn(TaskNo) -> bool,
        mut found: impl FnMut(TaskNo, bool),
    ) {
        for row in self.rows.iter().filter(|row| row.looper == looper && row.class.precedes(class)) {
            let epoch = if row.fired { fired } else { posted };
            let early = row.posts.partition_point(|post| post.epoch <= epoch);
            for post in row.posts[..early].iter().rev().filter(|post| post.task != task) {
                let has_ended = ended(post.task);
                found(post.task, has_ended);
                if has_ended && post.covers {
                    break;
                }
            }
        }
    }

    /// A task of a row begins.
    pub(super) fn begin(&mut self, row: usize, at: usize, ended: impl Fn(TaskNo) -> bool) {
        let Row { class, posts, .. } = &mut self.rows[row];
        let before = at.checked_sub(1).map(|i| &posts[i]);
        let covers = class.is_fifo() && before.is_none_or(|post| post.covers && ended(post.task));
        posts[at].covers = covers;
    }
}
