//! Figures 6 and 7 implemented literally: two relations, closed under the rules by a fixpoint. The additions to the
//! paper are implemented in the same style.

use crate::detect::traces::happens_before::TraceEdges;
use crate::trace::{Action, OpNo, TaskNo, ThreadNo, Trace};

/// One bit for each operation.
type BitRow = Vec<u64>;

pub(super) struct Naive<'t> {
    trace: &'t Trace,
    edges: TraceEdges,
    // st[i], mt[i]: the operations after operation i.
    st: Vec<BitRow>,
    mt: Vec<BitRow>,
    // The task that each operation belongs to.
    task: Vec<Option<TaskNo>>,
    // Whether the operation's thread had begun its loop before it.
    looped: Vec<bool>,
    // For each operation the operations on its thread. Each act of the environment has a thread of its own.
    same_thread: Vec<BitRow>,
    ends: Vec<Option<usize>>,
}

fn has(row: &BitRow, j: usize) -> bool {
    row[j / 64] >> (j % 64) & 1 == 1
}

fn set(row: &mut BitRow, j: usize) {
    row[j / 64] |= 1 << (j % 64);
}

impl<'t> Naive<'t> {
    pub(super) fn new(trace: &'t Trace, edges: TraceEdges) -> Self {
        let n = trace.ops.len();
        let empty = vec![vec![0; n.div_ceil(64)]; n];
        let mut naive = Self {
            trace,
            edges,
            st: empty.clone(),
            mt: empty.clone(),
            task: vec![None; n],
            looped: vec![false; n],
            same_thread: empty,
            ends: vec![None; trace.tasks.len()],
        };
        naive.describe();
        naive.direct();
        while naive.round() {}
        naive
    }

    pub(super) fn is_before(&self, i: usize, j: usize) -> bool {
        has(&self.st[i], j) || has(&self.mt[i], j)
    }

    fn thread(&self, i: usize) -> ThreadNo {
        self.trace.ops[OpNo(i as u32)].thread
    }

    fn action(&self, i: usize) -> Action {
        self.trace.ops[OpNo(i as u32)].action
    }

    fn describe(&mut self) {
        let threads = self.trace.threads.len();
        let (mut running, mut looping) = (vec![None; threads], vec![false; threads]);
        for i in 0..self.trace.ops.len() {
            let t = self.thread(i).0 as usize;
            if let Action::Begin(task) = self.action(i) {
                running[t] = Some(task);
            }
            self.task[i] = running[t];
            // A looper that has left its loop runs its own code again.
            if self.action(i) == Action::Leave {
                looping[t] = false;
            }
            self.looped[i] = looping[t];
            match self.action(i) {
                Action::Loop => looping[t] = true,
                Action::End(task) => {
                    self.ends[task.0 as usize] = Some(i);
                    running[t] = None;
                }
                _ => {}
            }
            for j in 0..self.trace.ops.len() {
                if self.is_same_thread(i, j) {
                    set(&mut self.same_thread[i], j);
                }
            }
        }
    }

    fn is_same_thread(&self, i: usize, j: usize) -> bool {
        let fleeting = self.trace.threads[self.thread(i)].environment;
        i == j || !fleeting && self.thread(i) == self.thread(j)
    }

    // The rules without premises.
    fn direct(&mut self) {
        for j in 0..self.trace.ops.len() {
            for i in 0..j {
                if self.is_same_thread(i, j) {
                    if self.is_direct_st(i, j) {
                        set(&mut self.st[i], j);
                    }
                } else if self.is_direct_mt(i, j) {
                    set(&mut self.mt[i], j);
                }
            }
        }
    }

    fn is_direct_st(&self, i: usize, j: usize) -> bool {
        let leaves = |j: usize| match self.action(j) {
            Action::Leave => true,
            // A thread that ends in its loop leaves it.
            Action::ThreadExit => self.looped[j],
            _ => false,
        };
        match (self.action(i), self.action(j)) {
            // NO-Q-PO
            _ if !self.looped[i] && self.task[i].is_none() => true,
            // ASYNC-PO
            _ if self.task[i].is_some() && self.task[i] == self.task[j] => true,
            // ENABLE-ST
            (Action::Enable(event), Action::Post(task)) => self.trace.tasks[task].events.contains(&event),
            // POST-ST
            (Action::Post(p), Action::Begin(q)) => p == q,
            // Beyond the paper: what a looper does after its loop is after all its tasks.
            (Action::End(_), _) => leaves(j),
            _ => false,
        }
    }

    fn is_direct_mt(&self, i: usize, j: usize) -> bool {
        let full = self.edges == TraceEdges::Full;
        match (self.action(i), self.action(j)) {
            // ATTACH-Q-MT
            (Action::AttachQueue, Action::Post(task)) => self.trace.tasks[task].looper == self.thread(i),
            // ENABLE-MT
            (Action::Enable(event), Action::Post(task)) => self.trace.tasks[task].events.contains(&event),
            // POST-MT
            (Action::Post(p), Action::Begin(q)) => p == q,
            // FORK: a thread's first operation takes the place of its threadinit.
            (Action::Fork(child), _) => child == self.thread(j) && (0..j).all(|k| self.thread(k) != child),
            // JOIN
            (Action::ThreadExit, Action::Join(other)) => other == self.thread(i),
            // LOCK
            (Action::Release(l), Action::Acquire(m)) => full && l == m,
            // Beyond the paper: signals.
            (Action::Send(c), Action::Receive(d)) => full && c == d,
            _ => false,
        }
    }

    // Applies the rules with premises once. Returns whether anything is new.
    fn round(&mut self) -> bool {
        let before = (self.st.clone(), self.mt.clone());
        self.queue_rules();
        for i in 0..self.st.len() {
            for k in i + 1..self.st.len() {
                // TRANS-ST
                if has(&self.st[i], k) {
                    let after = self.st[k].clone();
                    self.st[i].iter_mut().zip(after).for_each(|(to, from)| *to |= from);
                }
                // TRANS-MT
                if self.is_before(i, k) {
                    for word in 0..self.st[i].len() {
                        let after = self.st[k][word] | self.mt[k][word];
                        self.mt[i][word] |= after & !self.same_thread[i][word];
                    }
                }
            }
        }
        before != (self.st.clone(), self.mt.clone())
    }

    fn queue_rules(&mut self) {
        let tasks: Vec<TaskNo> = self.trace.tasks.ids().collect();
        for &p1 in &tasks {
            for &p2 in &tasks {
                let (first, second) = (&self.trace.tasks[p1], &self.trace.tasks[p2]);
                let (Some(end), Some(begin)) = (self.ends[p1.0 as usize], second.begin) else { continue };
                let begin = begin.0 as usize;
                if p1 == p2 || first.looper != second.looper || end >= begin {
                    continue;
                }
                let Some(post2) = second.post.map(|op| op.0 as usize) else { continue };
                // FIFO, with the delays of section 4.2 and the additional classes.
                let fifo = first.post.is_some_and(|post1| self.is_before(post1.0 as usize, post2))
                    && first.class().precedes(second.class());
                // NOPRE
                let mut inside = (0..post2 + 1).filter(|k| self.task[*k] == Some(p1));
                let nopre = inside.any(|k| k == post2 || self.is_before(k, post2));
                if fifo || nopre {
                    set(&mut self.st[end], begin);
                }
            }
        }
    }
}
