//! CAFA's order by its rules (section 3.3 of the paper, and `docs/detectors.md`), closed by a plain fixpoint.

use raceflip::detect::causality::{CausalityRules, External};
use raceflip::event::PostTime;
use raceflip::trace::{Action, OpNo, Task, TaskNo, ThreadNo, Trace};

/// The order of all operations of a trace.
pub(crate) struct Rules<'t> {
    trace: &'t Trace,
    rules: CausalityRules,
    // The operations with an edge to each operation.
    edges: Vec<Vec<usize>>,
    // One bit for each operation before this one.
    before: Vec<Vec<u64>>,
    /// The task that each operation belongs to.
    pub(crate) task: Vec<Option<TaskNo>>,
    ends: Vec<Option<usize>>,
    // The last operation of each task.
    lasts: Vec<Option<usize>>,
}

impl<'t> Rules<'t> {
    pub(crate) fn new(trace: &'t Trace, rules: CausalityRules) -> Self {
        let (n, tasks) = (trace.ops.len(), trace.tasks.len());
        let mut of = Self {
            trace,
            rules,
            edges: vec![Vec::new(); n],
            before: Vec::new(),
            task: vec![None; n],
            ends: vec![None; tasks],
            lasts: vec![None; tasks],
        };
        of.program();
        of.across();
        loop {
            of.close();
            if !of.derive() {
                return of;
            }
        }
    }

    pub(crate) fn is_before(&self, i: usize, j: usize) -> bool {
        self.before[j][i / 64] >> (i % 64) & 1 == 1
    }

    pub(crate) fn is_environment(&self, i: usize) -> bool {
        self.trace.threads[self.thread(i)].environment
    }

    fn thread(&self, i: usize) -> ThreadNo {
        self.trace.ops[OpNo(i as u32)].thread
    }

    fn action(&self, i: usize) -> Action {
        self.trace.ops[OpNo(i as u32)].action
    }

    // PROGRAM
    fn program(&mut self) {
        let threads = self.trace.threads.len();
        let (mut running, mut own, mut last) = (vec![None; threads], vec![None; threads], vec![None; threads]);
        // The ends of tasks since the thread's own code.
        let mut ends: Vec<Vec<usize>> = vec![Vec::new(); threads];
        for j in 0..self.trace.ops.len() {
            if self.is_environment(j) {
                continue;
            }
            let (t, action) = (self.thread(j).0 as usize, self.action(j));
            if let Action::Begin(task) = action {
                running[t] = Some(task);
                last[t] = own[t];
            }
            self.task[j] = running[t];
            match running[t] {
                Some(task) => {
                    self.edges[j].extend(last[t]);
                    last[t] = Some(j);
                    self.lasts[task.0 as usize] = Some(j);
                }
                None => {
                    self.edges[j].extend(own[t]);
                    self.edges[j].append(&mut ends[t]);
                    own[t] = Some(j);
                }
            }
            if let Action::End(task) = action {
                self.ends[task.0 as usize] = Some(j);
                ends[t].push(j);
                running[t] = None;
            }
        }
    }

    // FORK, JOIN, SIGNAL, LISTENER, SEND; beyond the paper the creation of a queue before the posts to it.
    fn across(&mut self) {
        for j in 0..self.trace.ops.len() {
            for i in 0..j {
                let is_edge = match (self.action(i), self.action(j)) {
                    (Action::Fork(child), _) if child == self.thread(j) => (0..j).all(|k| self.thread(k) != child),
                    (Action::ThreadExit, Action::Join(other)) => other == self.thread(i),
                    (Action::Send(c), Action::Receive(d)) => c == d,
                    (Action::Post(p), Action::Begin(q)) => p == q,
                    (Action::Enable(event), Action::Post(task)) => self.about(task).events.contains(&event),
                    (Action::AttachQueue, Action::Post(task)) => {
                        !self.rules.printed && self.about(task).looper == self.thread(i)
                    }
                    _ => false,
                };
                if is_edge {
                    self.edges[j].push(i);
                }
            }
        }
    }

    fn close(&mut self) {
        let n = self.trace.ops.len();
        self.before = vec![vec![0; n.div_ceil(64)]; n];
        for j in 0..n {
            for i in self.edges[j].clone() {
                let of_i = self.before[i].clone();
                self.before[j].iter_mut().zip(of_i).for_each(|(to, from)| *to |= from);
                self.before[j][i / 64] |= 1 << (i % 64);
            }
        }
    }

    fn about(&self, task: TaskNo) -> &Task {
        &self.trace.tasks[task]
    }

    // The rules with premises, for each two tasks of one looper. Returns whether anything is new.
    fn derive(&mut self) -> bool {
        let tasks: Vec<TaskNo> = self.trace.tasks.ids().collect();
        let mut news = Vec::new();
        for &e1 in &tasks {
            for &e2 in tasks.iter().filter(|e2| **e2 != e1 && self.about(**e2).looper == self.about(e1).looper) {
                let (Some(end), Some(begin)) = (self.ends[e1.0 as usize], self.about(e2).begin) else { continue };
                let begin = begin.0 as usize;
                if end < begin && !self.is_before(end, begin) && self.comes_before(e1, e2) {
                    news.push((end, begin));
                }
            }
        }
        news.iter().for_each(|(end, begin)| self.edges[*begin].push(*end));
        !news.is_empty()
    }

    // Whether a rule puts e1 before e2, which begins after e1 has ended.
    fn comes_before(&self, e1: TaskNo, e2: TaskNo) -> bool {
        let (first, second) = (self.about(e1), self.about(e2));
        let at = |op: Option<OpNo>| op.map(|op| op.0 as usize);
        let (send1, send2) = (at(first.post), at(second.post));
        let (Some(begin1), Some(begin2)) = (at(first.begin), at(second.begin)) else { return false };
        let is_before = |i: Option<usize>, j: Option<usize>| i.zip(j).is_some_and(|(i, j)| self.is_before(i, j));
        let has_queue = self.trace.tasks.iter().any(|task| task.looper == first.looper && task.post.is_some());
        // ATOMIC
        if has_queue && is_before(Some(begin1), self.lasts[e2.0 as usize]) {
            return true;
        }
        // QUEUE 1 and 3
        if is_before(send1, send2) && precedes(first, second) {
            return true;
        }
        // QUEUE 2 and 4: e1 is the message at the front.
        let has_turn = |task: &Task| !matches!(task.time, PostTime::Micro | PostTime::Idle { .. });
        if is_front(first) && has_turn(second) && is_before(send2, send1) && is_before(send1, Some(begin2)) {
            return true;
        }
        // FRONT-SEEN
        let is_seen = is_front(first) && !is_front(second) && has_turn(second) && second.post.is_some();
        if !self.rules.printed && is_seen && is_before(send1, Some(begin2)) {
            return true;
        }
        // EXTERNAL
        let from_outside = |task: TaskNo| self.trace.is_event(task);
        self.rules.external == External::Ordered
            && from_outside(e1)
            && from_outside(e2)
            && send1.zip(send2).is_some_and(|(a, b)| a < b)
    }
}

fn is_front(task: &Task) -> bool {
    task.post.is_some() && matches!(task.time, PostTime::Front | PostTime::At(0))
}

// The table of `docs/detectors.md`.
fn precedes(first: &Task, second: &Task) -> bool {
    use PostTime::{After, At, Front, Idle, Micro, Now};
    let delay = |time: PostTime| match time {
        Now => Some(0),
        After(delay) => Some(delay),
        _ => None,
    };
    match (first.time, second.time) {
        (Micro, _) => true,
        (_, Micro) | (Idle { .. }, _) | (_, Front) => false,
        (Front, _) => true,
        (time, Idle { .. }) => delay(time) == Some(0) || matches!(time, At(..=1)),
        _ if !first.is_async && second.is_async => false,
        (At(t1), At(t2)) => t1 <= t2,
        (At(t1), later) => delay(later).is_some_and(|d2| t1 <= d2 + 1),
        (_, At(_)) => false,
        (earlier, later) => delay(earlier) <= delay(later),
    }
}
