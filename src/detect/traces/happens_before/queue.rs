//! FIFO and NOPRE (DroidRacer, figure 6; delayed posts: section 4.2): which ended tasks of a looper are before a task
//! that begins.
//!
//! Both rules depend on what is before the *post* of the task, so that the state at the post decides. For NOPRE it is
//! enough to look at the last task of each chain of the looper whose begin is before the post: the earlier ones are
//! st-before it. For FIFO it is enough to look at the last task of each delay that each chain has posted: the earlier
//! ones are before it by FIFO, unless they had not ended when it began (messages were then overtaken by a post to the
//! front that the trace does not record).

use super::state::ContextState;
use crate::detect::relation::clock::ChainId;
use crate::detect::relation::tree::TreeClock;
use crate::trace::{TaskNo, ThreadNo};
use crate::world::PostClass;
use smallvec::SmallVec;

/// A posted task that has not begun.
#[derive(Clone, Debug)]
pub(super) struct PostedTask {
    /// Thread that posted the task.
    pub(super) poster: ThreadNo,
    /// State at the post, the post included.
    pub(super) state: ContextState,
    /// Chain of the poster, row there and place in the row; `None` if the environment posted the task.
    pub(super) row: Option<(ChainId, usize, usize)>,
    /// Task that posted this one, or enabled its event.
    pub(super) parent: Option<TaskNo>,
}

/// A task that has ended.
#[derive(Clone, Debug)]
pub(super) struct EndedTask {
    /// State at the end of the task, the end included.
    pub(super) state: ContextState,
    /// Posts that were searched for predecessors, if all tasks that should be before this one had ended when it
    /// began. A message of the same class that comes after this task comes after the tasks of these posts.
    pub(super) asked: Option<TreeClock>,
}

/// The posts and tasks of one chain. Most chains have one task that posts one other. A search looks at many of them, so
/// that the data of such a chain is in one piece.
#[derive(Clone, Default, Debug)]
pub(in crate::detect) struct ChainLog {
    // Tasks that ran on the chain. invariant: ascending by their first epoch
    tasks: SmallVec<[(u32, TaskNo); 1]>,
    rows: SmallVec<[PostRow; 1]>,
}

// Posts of the chain to one looper in one way. If `fired`: tasks posted by the environment that began on the chain,
// since a state that knows the begin comes after the post.
#[derive(Clone, Debug)]
struct PostRow {
    looper: ThreadNo,
    fired: bool,
    class: PostClass,
    // invariant: ascending by epoch
    posts: SmallVec<[Post; 1]>,
}

#[derive(Clone, Debug)]
struct Post {
    epoch: u32,
    task: TaskNo,
    // Whether all tasks before it in the row had ended when it began, and so on back to the first one.
    covers: bool,
}

impl ChainLog {
    /// Records that a task begins on the chain.
    pub(super) fn began(&mut self, epoch: u32, task: TaskNo) {
        self.tasks.push((epoch, task));
    }

    /// Records that the chain posts a task. Returns the place of the post.
    pub(super) fn posted(
        &mut self,
        (chain, epoch): (ChainId, u32),
        looper: ThreadNo,
        (task, class): (TaskNo, PostClass),
    ) -> (ChainId, usize, usize) {
        let at = self.row(looper, false, class);
        let posts = &mut self.rows[at].posts;
        posts.push(Post { epoch, task, covers: false });
        (chain, at, posts.len() - 1)
    }

    /// Records that a task that the environment has posted begins on the chain.
    pub(super) fn fired(&mut self, epoch: u32, looper: ThreadNo, (task, class): (TaskNo, PostClass)) {
        let at = self.row(looper, true, class);
        self.rows[at].posts.push(Post { epoch, task, covers: true });
    }

    fn row(&mut self, looper: ThreadNo, fired: bool, class: PostClass) -> usize {
        let same = |row: &PostRow| row.looper == looper && row.fired == fired && row.class == class;
        self.rows.iter().position(same).unwrap_or_else(|| {
            self.rows.push(PostRow { looper, fired, class, posts: SmallVec::new() });
            self.rows.len() - 1
        })
    }

    /// Returns the task that was posted before another one in the same way.
    pub(super) fn before(&self, row: usize, at: usize) -> Option<TaskNo> {
        Some(self.rows[row].posts[at.checked_sub(1)?].task)
    }

    /// Returns the last task that began on the chain by this epoch.
    pub(super) fn last_begun(&self, epoch: u32) -> Option<TaskNo> {
        // Most lookups ask for the last task.
        let early = match self.tasks.last() {
            Some((begin, _)) if *begin <= epoch => self.tasks.len(),
            _ => self.tasks.partition_point(|(begin, _)| *begin <= epoch),
        };
        self.tasks[..early].last().map(|(_, task)| *task)
    }

    pub(super) fn last_task(&self) -> Option<TaskNo> {
        self.tasks.last().map(|(_, task)| *task)
    }

    /// Passes to `found` tasks of a looper that begin before a message of this class: those that the chain has posted
    /// by epoch `posted`, and firings that began on it by epoch `fired` (a path of any shape counts). Tasks that have
    /// ended are passed with true, as far as none of them is before another one; tasks that should have ended, and
    /// have not, with false.
    pub(super) fn fifo(
        &self,
        (posted, fired): (u32, u32),
        looper: ThreadNo,
        (task, class): (TaskNo, PostClass),
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

    /// Records that a task of a row begins.
    pub(super) fn begin(&mut self, row: usize, at: usize, ended: impl Fn(TaskNo) -> bool) {
        let PostRow { class, posts, .. } = &mut self.rows[row];
        let before = at.checked_sub(1).map(|i| &posts[i]);
        let covers = class.is_fifo() && before.is_none_or(|post| post.covers && ended(post.task));
        posts[at].covers = covers;
    }
}
