//! Random programs for static executes-before, as trees.
//!
//! `static_text` writes them as models, and `static_rules` unfolds them by itself, so that the fixpoint there shares
//! nothing with the analysis but the program.

/// Index of a body in [`Random::bodies`].
pub(crate) type BodyIndex = usize;

/// What runs a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Runs {
    /// It is posted and forked.
    Task,
    /// An event of this looper, with so many enables at the start.
    Event { looper: usize, initially: u32 },
    /// A thread that starts with the app.
    Thread,
    /// The block of a looper.
    Looper,
}

/// A body. Bodies make only bodies that come after them, and tasks themselves once more.
pub(crate) struct RandomBody {
    pub(crate) name: String,
    pub(crate) runs: Runs,
    pub(crate) steps: Vec<Step>,
}

/// A looper that is named by a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// A declared looper: an index in [`LOOPERS`].
    Declared(usize),
    /// The looper of this local variable.
    Local(u32),
}

/// When a message is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    After(u64),
    At(u64),
    Front,
}

/// A condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    Any,
    /// The flag has this value.
    Flag(usize, bool),
}

/// A thread that is joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Joined {
    Local(u32),
    Declared(BodyIndex),
    Looper(usize),
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A write of `v`, with the label `m` and this number.
    Mark(u32),
    Post {
        task: BodyIndex,
        to: Target,
        when: When,
        by_handler: bool,
    },
    /// The task posts itself once more, unless it was posted so.
    Again {
        to: Target,
        when: When,
    },
    /// Posts this task or an earlier one, at most twice in a run, which the analysis cannot know.
    Recur {
        task: BodyIndex,
        to: Target,
        when: When,
    },
    Fork {
        task: BodyIndex,
        local: u32,
    },
    Spawn {
        local: u32,
    },
    Join(Joined),
    If(Condition, Vec<Step>, Vec<Step>),
    Await(usize, bool),
    Assert(usize, bool),
    /// The body comes twice, and the analysis cannot know that.
    Loop {
        local: u32,
        body: Vec<Step>,
    },
    /// A loop over constants.
    Twice {
        local: u32,
        body: Vec<Step>,
    },
    Try(Vec<Step>, Vec<Step>),
    Throw,
    Return,
    Lock(usize, Vec<Step>),
    Set(usize, bool),
    Up(usize),
    Down(usize),
    /// Cancels a task, or all of a handler.
    Cancel {
        task: Option<BodyIndex>,
        looper: usize,
        by_handler: bool,
    },
    Quit {
        looper: usize,
        safely: bool,
    },
    Enable(BodyIndex),
    Disable(BodyIndex),
}

/// Names of the declared loopers.
pub(crate) const LOOPERS: [&str; 2] = ["main", "other"];

/// Number of flags, of locks, and of semaphores. The last semaphore starts at 1, the others at 0.
pub(crate) const FLAGS: usize = 2;
pub(crate) const LOCKS: usize = 2;
pub(crate) const SEMAPHORES: usize = 2;

/// A random program.
pub(crate) struct Random {
    pub(crate) bodies: Vec<RandomBody>,
    /// Number of marks.
    pub(crate) marks: u32,
    /// Whether an uncaught exception ends the thread instead of the app.
    pub(crate) thread_ends: bool,
}

impl Random {
    /// Returns the number of threads and tasks that a run can have.
    pub(crate) fn instances(&self) -> u64 {
        fn of(steps: &[Step], made: &[u64], own: u64) -> u64 {
            let one = |step: &Step| match step {
                Step::Post { task, .. } | Step::Fork { task, .. } | Step::Enable(task) => made[*task],
                Step::Spawn { .. } => 1,
                Step::Again { .. } => own,
                // What it makes is left out: it makes little, and the bound on states holds all the same.
                Step::Recur { .. } => 1,
                Step::If(_, a, b) => of(a, made, own).max(of(b, made, own)),
                Step::Try(a, b) => of(a, made, own) + of(b, made, own),
                Step::Lock(_, body) => of(body, made, own),
                Step::Loop { body, .. } | Step::Twice { body, .. } => 2 * of(body, made, own),
                _ => 0,
            };
            steps.iter().map(one).sum()
        }
        let mut made = vec![0; self.bodies.len()];
        for (i, body) in self.bodies.iter().enumerate().rev() {
            let once = 1 + of(&body.steps, &made, 0);
            made[i] = if of(&body.steps, &made, 1) > once - 1 { 2 * once } else { once };
        }
        let starts = |runs: Runs| match runs {
            Runs::Thread | Runs::Looper => 1,
            Runs::Event { initially, .. } => u64::from(initially),
            Runs::Task => 0,
        };
        self.bodies.iter().zip(&made).map(|(body, made)| starts(body.runs) * made).sum()
    }
}
