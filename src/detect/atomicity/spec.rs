//! Which steps belong to which declared transaction.

use super::Specification;
use super::steps::{BlockMark, ContextNo, StepKind, StepNo, Steps};
use crate::base::{Id, IndexVec};
use crate::trace::{InstanceNo, TaskNo, ThreadNo};
use smallvec::SmallVec;
use std::collections::BTreeMap;

crate::define_id! {
    /// A declared transaction.
    TransactionNo,
}

/// A declared transaction: steps that are meant to happen in one piece.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// The name without numbers, by which transactions of several instances and runs are the same.
    pub declared: String,
    /// The name with its number: `Player#1`, `append#2`.
    pub name: String,
    /// The first step.
    pub first: StepNo,
    /// The last step.
    pub last: StepNo,
    /// The loopers on which the transaction has a task, or a part of one; ascending.
    pub loopers: SmallVec<[ThreadNo; 1]>,
}

/// The declared transactions of a trace under one specification.
#[derive(Debug)]
pub struct Transactions {
    /// The specification.
    pub specification: Specification,
    /// The transactions, in the order of their first steps.
    pub all: IndexVec<TransactionNo, Transaction>,
    // The transaction of each step, or `NONE`.
    of_step: IndexVec<StepNo, u32>,
    // What each task belongs to; nothing for blocks.
    of_task: IndexVec<TaskNo, Owner>,
}

const NONE: u32 = u32::MAX;

impl Transactions {
    /// Returns the transactions that a specification declares.
    #[must_use]
    pub fn of(steps: &Steps<'_>, specification: Specification) -> Self {
        let mut made = Self { specification, all: IndexVec::new(), of_step: IndexVec::new(), of_task: IndexVec::new() };
        made.of_step.reserve(steps.all.len());
        match specification {
            Specification::Blocks => made.blocks(steps),
            _ => made.tasks(steps),
        }
        made
    }

    /// Returns the transaction of a step.
    #[must_use]
    pub fn of_step(&self, step: StepNo) -> Option<TransactionNo> {
        let number = self.of_step[step];
        (number != NONE).then_some(TransactionNo(number))
    }

    // Adds a step to a transaction.
    fn step(&mut self, steps: &Steps<'_>, at: StepNo, transaction: Option<TransactionNo>) {
        self.of_step.push(transaction.map_or(NONE, |t| t.0));
        let Some(transaction) = transaction else { return };
        let context = steps.all[at].context;
        let own = &mut self.all[transaction];
        own.last = at;
        if let Some(task) = steps.task_of(context) {
            let looper = steps.trace.tasks[task].looper;
            if let Err(at) = own.loopers.binary_search(&looper) {
                own.loopers.insert(at, looper);
            }
        }
    }

    fn add(&mut self, declared: String, name: String, first: StepNo) -> TransactionNo {
        self.all.add(Transaction { declared, name, first, last: first, loopers: SmallVec::new() })
    }

    fn blocks(&mut self, steps: &Steps<'_>) {
        // For each context in a block: how many blocks are open, the name of the outermost, and its transaction.
        let mut open: BTreeMap<ContextNo, (u32, usize, Option<TransactionNo>)> = BTreeMap::new();
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        let mut marks = steps.marks.iter().filter(|mark| !steps.trace.transactions[mark.mark].unit).peekable();
        for (at, step) in steps.all.enumerate() {
            while let Some(mark) = marks.next_if(|mark| mark.before <= at) {
                match (steps.trace.transactions[mark.mark].begins, open.get_mut(&mark.context)) {
                    (true, Some((depth, ..))) => *depth += 1,
                    (true, None) => drop(open.insert(mark.context, (1, mark.mark, None))),
                    (false, Some((depth, ..))) if *depth > 1 => *depth -= 1,
                    (false, _) => drop(open.remove(&mark.context)),
                }
            }
            let transaction = open.get_mut(&step.context).map(|(_, mark, transaction)| {
                *transaction.get_or_insert_with(|| {
                    let name = steps.trace.transactions[*mark].name.as_deref().unwrap_or("transaction");
                    let count = counts.entry(name).or_default();
                    *count += 1;
                    let numbered = format!("{name}#{count}");
                    self.add(name.to_owned(), numbered, at)
                })
            });
            self.step(steps, at, transaction);
        }
    }

    fn tasks(&mut self, steps: &Steps<'_>) {
        let trace = steps.trace;
        let mut of_task: IndexVec<TaskNo, Owner> = trace.tasks.iter().map(|_| Owner::None).collect();
        let mut instances: BTreeMap<InstanceNo, TransactionNo> = BTreeMap::new();
        let mut roots: IndexVec<TaskNo, Option<TransactionNo>> = trace.tasks.iter().map(|_| None).collect();
        let mut units = Units::new(steps);
        for (at, step) in steps.all.enumerate() {
            let running = steps.task_of(step.context);
            units.advance(at);
            if let StepKind::Post(task) = step.kind {
                let task = TaskNo(task);
                let looper = trace.tasks[task].looper;
                let own = running.filter(|poster| trace.tasks[*poster].looper == looper);
                let inherited = own.map_or(Owner::None, |poster| of_task[poster]);
                of_task[task] = match (self.specification, trace.tasks[task].instance) {
                    (Specification::Lifecycle, Some(instance)) => Owner::Instance(instance),
                    (Specification::Lifecycle, None) => inherited,
                    (Specification::Tree, _) if inherited != Owner::None => inherited,
                    _ => Owner::Root(task),
                };
            }
            // A firing belongs to the transaction of the task that it makes.
            let task = match step.kind {
                StepKind::Post(task) if step.context == ContextNo::NONE => Some(TaskNo(task)),
                StepKind::Begin(task) => {
                    let task = TaskNo(task);
                    if let (Specification::Lifecycle, None, Some(instance)) =
                        (self.specification, trace.tasks[task].post, trace.tasks[task].instance)
                    {
                        of_task[task] = Owner::Instance(instance);
                    }
                    Some(task)
                }
                _ => running,
            };
            let owner = task.map_or(Owner::None, |task| of_task[task]);
            let transaction = match owner {
                Owner::None => None,
                Owner::Instance(instance) if trace.with_units.binary_search(&instance).is_ok() => {
                    units.open.get(&step.context).map(|(_, mark)| {
                        let unit = trace.transactions[*mark].name.as_deref().unwrap_or_default();
                        *units.numbers.entry((instance, unit)).or_insert_with(|| {
                            let short = unit.rsplit('.').next().unwrap_or(unit);
                            self.add(unit.to_owned(), format!("{}.{short}", &trace.instances[instance]), at)
                        })
                    })
                }
                Owner::Instance(instance) => Some(*instances.entry(instance).or_insert_with(|| {
                    let name = &trace.instances[instance];
                    self.add(declared_name(name), name.to_owned(), at)
                })),
                Owner::Root(root) => Some(*roots[root].get_or_insert_with(|| {
                    let name = &trace.tasks[root].name;
                    self.add(declared_name(name), name.clone(), at)
                })),
            };
            self.step(steps, at, transaction);
        }
        self.of_task = of_task;
    }

    /// Returns the name of what a task belongs to, and whether that has begun; `None` if it belongs to nothing.
    pub(super) fn owner(&self, steps: &Steps<'_>, task: TaskNo) -> Option<(String, bool)> {
        let name = match *self.of_task.get(task.index())? {
            Owner::None => return None,
            Owner::Instance(instance) => steps.trace.instances[instance].to_owned(),
            Owner::Root(root) => steps.trace.tasks[root].name.clone(),
        };
        let has_begun = self.all.iter().any(|transaction| transaction.name == name);
        Some((name, has_begun))
    }
}

// The parts of units that are open, and the transactions of units.
struct Units<'t> {
    steps: &'t Steps<'t>,
    marks: std::iter::Peekable<std::slice::Iter<'t, BlockMark>>,
    // For each context in a part of a unit: how many are open, and the mark of the outermost one.
    open: BTreeMap<ContextNo, (u32, usize)>,
    numbers: BTreeMap<(InstanceNo, &'t str), TransactionNo>,
}

impl<'t> Units<'t> {
    fn new(steps: &'t Steps<'t>) -> Self {
        Self { steps, marks: steps.marks.iter().peekable(), open: BTreeMap::new(), numbers: BTreeMap::new() }
    }

    // Goes on to a step.
    fn advance(&mut self, at: StepNo) {
        while let Some(mark) = self.marks.next_if(|mark| mark.before <= at) {
            let about = &self.steps.trace.transactions[mark.mark];
            match (about.begins, self.open.get_mut(&mark.context)) {
                _ if !about.unit => {}
                (true, Some((depth, _))) => *depth += 1,
                (true, None) => drop(self.open.insert(mark.context, (1, mark.mark))),
                (false, Some((depth, _))) if *depth > 1 => *depth -= 1,
                (false, _) => drop(self.open.remove(&mark.context)),
            }
        }
    }
}

// Whom a task belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    None,
    Instance(InstanceNo),
    Root(TaskNo),
}

/// Returns a name without its creators and numbers: `main/Player#1.hide#2` is `Player.hide`.
///
/// # Examples
///
/// ```
/// use raceflip::detect::atomicity::declared_name;
///
/// assert_eq!(declared_name("binder/launch#1/download#12"), "download");
/// assert_eq!(declared_name("MainActivity"), "MainActivity");
/// ```
#[must_use]
pub fn declared_name(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or_default();
    let mut parts = last.split('#');
    let mut declared = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        declared.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    declared
}
