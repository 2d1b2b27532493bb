//! The tasks that one chain has posted to one looper, by the delay or instant of their messages.
//!
//! If one chain posts two messages with delays (or two with instants), the earlier one begins first unless its delay
//! is longer. Of the tasks that a message follows, it is therefore enough to return those for which no other one was
//! posted later with a delay at least as long. In descending order of delay, each of these was posted later than the
//! one before it. A chain may have used thousands of delays, few of which have such a task. Delays are therefore
//! stored in blocks, and a block knows its posts, so that one lookup decides whether it can contain such a task.

use super::clock::Point;
use super::queues::EndedMessage;
use crate::world::{PostClass, Time};
use smallvec::SmallVec;
use std::sync::Arc;

/// A task, with the epoch of its post and its end.
pub(in crate::detect) struct DelayedTask {
    pub(in crate::detect) post: u32,
    pub(in crate::detect) end: Point,
    pub(in crate::detect) ended: Arc<EndedMessage>,
}

/// Tasks by delay or instant.
#[derive(Default)]
pub(in crate::detect) struct DelayedTasks {
    // Blocks by kind of time (delay or instant) and by whether the message is asynchronous. Times of one kind are
    // comparable. Most chains post few messages, in one way, so the lists begin with room for one element, here and
    // below. invariant: ascending by kind
    kinds: SmallVec<[(TimeKind, Vec<DelayBlock>); 1]>,
}

// Neighboring delays. invariant: not empty; all of them are less than those of the next block
struct DelayBlock {
    // invariant: ascending by delay
    rows: Vec<DelayRow>,
    // The posts of all rows. invariant: ascending
    posts: Vec<u32>,
}

// Tasks of one delay. invariant: ascending by post; a later one ended later, and after the earlier one in
// happens-before
struct DelayRow {
    class: PostClass,
    tasks: Vec<DelayedTask>,
}

// Maximum number of rows of a block; small in unit tests, so that short traces have several blocks.
const ROWS: usize = if cfg!(test) { 4 } else { 64 };

// Whether the time is an instant, and whether the message is asynchronous.
type TimeKind = (bool, bool);

fn kind(class: PostClass) -> TimeKind {
    (matches!(class.time, Time::At(_)), class.is_async)
}

impl DelayedTasks {
    /// Adds an ended task whose message had a delay or an instant. In a run, the tasks of one delay end in the order of
    /// their posts. A trace may lack that a message was posted to the front: a task that such a message has overtaken
    /// is left out, so that FIFO puts it before nothing.
    pub(in crate::detect) fn add(&mut self, class: PostClass, entry: DelayedTask) {
        let kind = kind(class);
        let of_kind = self.kinds.binary_search_by_key(&kind, |(of, _)| *of).unwrap_or_else(|at| {
            self.kinds.insert(at, (kind, Vec::with_capacity(1)));
            at
        });
        let blocks = &mut self.kinds[of_kind].1;
        let at = blocks.partition_point(|block| block.rows[0].class <= class).saturating_sub(1);
        if blocks.is_empty() {
            blocks.push(DelayBlock { rows: Vec::with_capacity(1), posts: Vec::with_capacity(1) });
        }
        let DelayBlock { rows, posts } = &mut blocks[at];
        let row = rows.binary_search_by_key(&class, |row| row.class).unwrap_or_else(|at| {
            rows.insert(at, DelayRow { class, tasks: Vec::with_capacity(1) });
            at
        });
        let tasks = &mut rows[row].tasks;
        if tasks.last().is_some_and(|task| task.post >= entry.post) {
            return;
        }
        let place = posts.partition_point(|post| *post < entry.post);
        posts.insert(place, entry.post);
        tasks.push(entry);
        if rows.len() > ROWS {
            let rest = rows.split_off(ROWS / 2);
            let rest = DelayBlock { posts: all_posts(&rest), rows: rest };
            *posts = all_posts(rows);
            blocks.insert(at + 1, rest);
        }
    }

    /// Returns the tasks that a message of this class follows, if its post knows this epoch of the chain. They are in
    /// descending order of delay, without those that are before another one of them.
    pub(in crate::detect) fn before(&self, class: PostClass, epoch: u32) -> Vec<&DelayedTask> {
        let mut found = Vec::new();
        for (_, blocks) in &self.kinds {
            // Only tasks that were posted after this epoch are new.
            let mut since = 0;
            for DelayBlock { rows, posts } in blocks.iter().rev().filter(|block| block.rows[0].class.precedes(class)) {
                if posts.last().is_none_or(|last| *last <= since)
                    || posts.partition_point(|post| *post <= since) == posts.partition_point(|post| *post <= epoch)
                {
                    continue;
                }
                for DelayRow { class: of, tasks } in rows.iter().rev().filter(|row| row.class.precedes(class)) {
                    let early = tasks.partition_point(|task| task.post <= epoch);
                    if let Some(task) = tasks[..early].last().filter(|task| task.post > since) {
                        since = task.post;
                        found.push((*of, task));
                    }
                }
            }
        }
        found.sort_by_key(|(class, _)| std::cmp::Reverse(*class));
        found.into_iter().map(|(_, task)| task).collect()
    }
}

fn all_posts(rows: &[DelayRow]) -> Vec<u32> {
    let mut posts: Vec<u32> = rows.iter().flat_map(|row| row.tasks.iter().map(|task| task.post)).collect();
    posts.sort_unstable();
    posts
}
