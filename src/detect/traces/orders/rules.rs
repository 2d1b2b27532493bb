//! The rules that follow from an order: a task runs as a whole, queues are first in, first out, and sections of a lock
//! exclude each other.

use super::rows::{Cycle, Rows};
use crate::world::{PostClass, Time};

/// The nodes of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskNodes {
    /// Its post with the class of the message; `None` if the trace has no post.
    pub(super) post: Option<(usize, PostClass)>,
    pub(super) begin: usize,
    pub(super) end: usize,
}

impl TaskNodes {
    // A message begins before all messages of less urgency that have not begun when it is posted.
    fn urgency(&self) -> u32 {
        match self.post.map(|(_, class)| class.time) {
            Some(Time::Micro) => 2,
            Some(Time::Front) => 1,
            _ => 0,
        }
    }
}

/// A section of a lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    pub(super) acquire: usize,
    pub(super) release: usize,
}

/// What the rules are about.
#[derive(Default, Debug)]
pub(super) struct Rules {
    /// The tasks of each thread, in the order of the trace.
    pub(super) tasks: Vec<Vec<TaskNodes>>,
    /// Pairs of sections of one lock on different threads.
    pub(super) sections: Vec<(Section, Section)>,
}

impl Rules {
    /// Adds everything that follows.
    pub(super) fn saturate(&self, rows: &mut Rows) -> Result<(), Cycle> {
        loop {
            let mut news = false;
            for tasks in &self.tasks {
                for (i, a) in tasks.iter().enumerate() {
                    for b in &tasks[i + 1..] {
                        news |= tasks_of_one(rows, a, b)? | tasks_of_one(rows, b, a)?;
                    }
                }
            }
            for (s, t) in &self.sections {
                for (s, t) in [(s, t), (t, s)] {
                    if rows.has(s.acquire, t.release) {
                        news |= rows.add(s.release, t.acquire)?;
                    }
                }
            }
            if !news {
                return Ok(());
            }
        }
    }

    /// Returns two nodes in an order that is still open, apart from those of conflicts: the relation is one of runs
    /// only if one of the two orders can be added. The first order is that of the trace, if the trace decides it.
    pub(super) fn open(&self, rows: &Rows) -> Option<[(usize, usize); 2]> {
        for tasks in &self.tasks {
            for (i, a) in tasks.iter().enumerate() {
                for b in &tasks[i + 1..] {
                    if !rows.has(a.end, b.begin) && !rows.has(b.end, a.begin) {
                        return Some([(a.end, b.begin), (b.end, a.begin)]);
                    }
                }
            }
        }
        self.tasks.iter().find_map(|tasks| open_fronts(rows, tasks))
    }
}

// Adds what follows for two tasks of one thread, if the first one is before the second one, or has been posted before.
fn tasks_of_one(rows: &mut Rows, a: &TaskNodes, b: &TaskNodes) -> Result<bool, Cycle> {
    let mut news = false;
    if rows.has(a.begin, b.end) {
        news |= rows.add(a.end, b.begin)?;
    }
    let is_first = rows.has(a.end, b.begin);
    if let (Some((posted, class)), Some((later, of))) = (a.post, b.post)
        && class.precedes(of)
    {
        if rows.has(posted, later) {
            news |= rows.add(a.end, b.begin)?;
        }
        if rows.has(b.begin, a.end) {
            news |= rows.add(later, posted)?;
        }
    }
    // An urgent message begins before all others that have not begun when it is posted.
    if let Some((posted, _)) = b.post.filter(|_| a.post.is_some() && b.urgency() > a.urgency()) {
        if is_first {
            news |= rows.add(a.begin, posted)?;
        }
        if rows.has(posted, a.begin) {
            news |= rows.add(b.end, a.begin)?;
        }
    }
    if let Some((posted, later)) = fronts(a, b)
        && is_first
    {
        // Messages at the front are last in, first out.
        if rows.has(posted, later) {
            news |= rows.add(a.begin, later)?;
        }
        if rows.has(later, a.begin) {
            news |= rows.add(later, posted)?;
        }
    }
    Ok(news)
}

// Returns the posts of two messages at the front.
fn fronts(a: &TaskNodes, b: &TaskNodes) -> Option<(usize, usize)> {
    let front = |task: &TaskNodes| task.post.filter(|(_, class)| class.time == Time::Front).map(|(post, _)| post);
    front(a).zip(front(b))
}

// Of two messages at the front, the second one that begins was posted first, or after the begin of the other one.
fn open_fronts(rows: &Rows, tasks: &[TaskNodes]) -> Option<[(usize, usize); 2]> {
    for a in tasks {
        for b in tasks.iter().filter(|b| rows.has(a.end, b.begin)) {
            if let Some((posted, later)) = fronts(a, b)
                && !rows.has(later, posted)
                && !rows.has(a.begin, later)
            {
                return Some([(a.begin, later), (later, posted)]);
            }
        }
    }
    None
}
