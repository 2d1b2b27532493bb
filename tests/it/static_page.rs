//! Generates `docs/results/static.md`: what static executes-before finds on the harnesses, beside the tables of
//! AndRacer, and its time by size. `cargo test --test it static_page -- --ignored` rewrites it.

use crate::static_claims::{conflicting, judge_with};
use crate::static_harnesses::{Variant, judge_harnesses, variants};
use crate::static_models::{of_paper, random, with_cancels, with_delays, with_fronts, with_quits};
use crate::static_printed::Reading;
use crate::static_sizes::{MIXED, SHAPES, Shape};
use crate::static_tasks::{count_printed, of_printed};
use crate::static_tree::Random;
use crate::static_truth::facts_by_search;
use raceflip::detect::Pair;
use raceflip::event::{BodyId, ContextId, Event, EventKind, Op};
use raceflip::explore::{Bounds, Monitor, NoSearchProgress, SearchContext, SearchPlan, explore_with};
use raceflip::statics::{SitesClaim, StaticsOptions, analyze};
use raceflip::vm::Model;
use raceflip::world::{Canonicalizer, CreationKind, World};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Bound on the states of a variant whose runs are compared with claims.
const MOST_STATES: u64 = 20_000;

/// Orders of tasks in all runs.
#[derive(Default)]
struct Seen {
    /// *a, c*: some c began after an a had ended.
    happens: BTreeSet<(BodyId, BodyId)>,
    /// *a, c*: some a began or ended after a c had begun.
    denied: BTreeSet<(BodyId, BodyId)>,
}

/// Watches which tasks have begun and ended, and notes their orders.
#[derive(Clone, Default)]
struct TaskOrders {
    begun: BTreeSet<BodyId>,
    ended: BTreeSet<BodyId>,
    seen: Arc<Mutex<Seen>>,
}

impl TaskOrders {
    fn body(world: &World, context: ContextId) -> Option<BodyId> {
        match world.contexts().made(context) {
            CreationKind::Body(body) => Some(body),
            CreationKind::Event(event) => Some(world.setup().events[event].body),
            _ => None,
        }
    }
}

impl Monitor for TaskOrders {
    const WATCHES: bool = true;

    fn event(&mut self, world: &World, event: &Event) {
        let (task, begins) = match &event.what {
            EventKind::Performed { op: Op::Begin, made: Some(task), .. } => (Some(*task), true),
            EventKind::End => (event.context, false),
            _ => return,
        };
        let Some(body) = task.and_then(|task| Self::body(world, task)) else { return };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.denied.extend(self.begun.iter().filter(|other| **other != body).map(|other| (body, *other)));
        if begins {
            seen.happens.extend(self.ended.iter().filter(|other| **other != body).map(|other| (*other, body)));
            self.begun.insert(body);
        } else {
            self.ended.insert(body);
        }
    }

    fn write(&self, _: &World, state: &mut Canonicalizer) {
        for set in [&self.begun, &self.ended] {
            state.distinguish(set.len() as u64);
            set.iter().for_each(|body| state.distinguish(u64::from(body.0)));
        }
    }
}

/// Returns the pairs of tasks that are in one order in all runs, and those that are in the other one in some run;
/// `None` if there are too many states.
fn task_orders(model: &Model) -> Option<Seen> {
    let bounds = Bounds { states: MOST_STATES * 4, ..Bounds::default() };
    let plan = SearchPlan { bounds, ..SearchPlan::new(model) };
    let monitor = TaskOrders::default();
    let context = SearchContext { stop: &AtomicBool::new(false), progress: &NoSearchProgress };
    if !explore_with(&plan, &monitor, context).complete() {
        return None;
    }
    let mut seen = monitor.seen.lock().unwrap_or_else(PoisonError::into_inner);
    Some(std::mem::take(&mut *seen))
}

/// The orders of tasks of a model, as all runs have them and as they are claimed.
struct Recall {
    name: String,
    ordered: usize,
    claimed: usize,
    /// Pairs of which the analysis orders all operations, though not the end of the first task.
    by_operations: usize,
    missed: Vec<String>,
}

/// Why the analysis does not find some orders of tasks: the model, the two tasks, and the reason.
const MISSED: [(&str, &str, &str); 2] = [
    ("kontalk_idle", "msgIdle before teardown", "what posts `teardown` has cancelled `msgIdle`"),
    ("wallpaper_handlers", "refresh before onDestroy", "`onDestroy` cancels `refresh`"),
];

fn recall(Variant { name, model, statics }: &Variant) -> Option<Recall> {
    let Seen { happens, denied } = task_orders(model)?;
    let claims: BTreeSet<(BodyId, BodyId)> = statics.bodies().into_iter().collect();
    let text = |(a, c): &(BodyId, BodyId)| {
        format!("{} before {}", model.program.bodies[*a].name, model.program.bodies[*c].name)
    };
    let wrong: Vec<String> = claims.intersection(&denied).map(text).collect();
    assert!(wrong.is_empty(), "{name}: claimed, and another order happens: {wrong:?}");
    let sites = &model.program.sites;
    let of = |body: BodyId| sites.enumerate().filter(move |(_, s)| s.body == body).map(|(id, _)| id);
    let are_past = |(a, c): &(BodyId, BodyId)| of(*a).all(|x| of(*c).all(|y| statics.past_before(x, y)));
    let ordered: Vec<_> = happens.difference(&denied).collect();
    let open: Vec<_> = ordered.iter().filter(|pair| !claims.contains(pair)).collect();
    let missed = open.iter().filter(|pair| !are_past(pair)).map(|pair| {
        let text = text(pair);
        let reason = MISSED.iter().find(|(model, pair, _)| name.contains(model) && *pair == text);
        let (.., reason) = reason.unwrap_or_else(|| panic!("{name}: {text} is missed, and MISSED does not say why"));
        format!("{text}: {reason}")
    });
    let missed: Vec<String> = missed.collect();
    Some(Recall {
        name: name.clone(),
        ordered: ordered.len(),
        claimed: ordered.len() - open.len(),
        by_operations: open.len() - missed.len(),
        missed,
    })
}

/// Counts of conflicting pairs, as the paper's table 4 has them.
#[derive(Default)]
struct Eliminated {
    variants: u64,
    conflicting: u64,
    order: u64,
    locks: u64,
    both: u64,
    order_only: u64,
    left: u64,
    /// Pairs that are left in variants of few states; and those that are side by side or in both orders there.
    searched: u64,
    real: u64,
    redundant: u64,
}

impl Eliminated {
    fn add(&mut self, Variant { model, statics, .. }: &Variant) {
        self.variants += 1;
        self.redundant += statics.locks().len() as u64;
        let mut left = Vec::new();
        for (a, b) in conflicting(&model.program) {
            let claim = statics.sites(a, b);
            let conflicts = claim != SitesClaim::NoConflict && claim != SitesClaim::NeverBoth;
            let order = matches!(claim, SitesClaim::Ordered { .. } | SitesClaim::BothOrders);
            let locks = statics.protected(a, b);
            self.conflicting += u64::from(conflicts);
            self.order += u64::from(order);
            self.locks += u64::from(locks && conflicts);
            self.both += u64::from(order && locks);
            self.order_only += u64::from(claim == SitesClaim::OrderOnly);
            if matches!(claim, SitesClaim::OrderOnly | SitesClaim::MayRace) {
                left.push((a, b));
            }
        }
        self.left += left.len() as u64;
        let Some(facts) = facts_by_search(model, MOST_STATES) else { return };
        self.searched += left.len() as u64;
        let is_real = |(a, b): &&(_, _)| {
            let both = facts.orders.contains(&(*a, *b)) && facts.orders.contains(&(*b, *a)) && a != b;
            both || facts.beside.contains(&Pair::new(*a, *b))
        };
        self.real += left.iter().filter(is_real).count() as u64;
    }

    fn row(&self, name: &str) -> String {
        let Self { variants, conflicting, order, locks, both, order_only, left, searched, real, redundant } = self;
        format!(
            "| {name} | {variants} | {conflicting} | {locks} | {order} | {} | {left} | {order_only} | {real} of {searched} | \
             {redundant} |\n",
            order - both
        )
    }
}

const HEAD: &str = "\
# Static executes-before on the harnesses

Written by `cargo test --test it static_page -- --ignored`. The numbers of the paper are those of AndRacer (\"Static Executes-Before Analysis for Event Driven Programs\", 2021, tables 3 and 4), about Android apps; so only shares can be compared. Times are of one run on a shared machine (AMD EPYC, 2 cores).

";

const RECALL: &str = "\
## Orders of tasks

The repaired variants of the models of real bugs with at most 80,000 states. A search of all states determines the pairs of tasks (and firings) of which the first is over before the other one begins, in every run that has both. *Claimed* are those that the analysis finds. *By operations*: it finds that all operations of the first are past before those of the second, but not its end. \
Such a task posts the other one, to another looper, by its last operation; the end of a task takes no step in a model, but it takes time in an app. AndRacer's authors wrote the pairs of their apps down by hand, and their tool finds 97 % of them. Models without such a pair are left out. No claim is contradicted.

| model | pairs in order | claimed | by operations | missed |
|---|---|---|---|---|
";

fn recall_section() -> String {
    let mut text = RECALL.to_owned();
    let repaired = variants().filter(|v| v.name.starts_with("bugs/") && v.name.ends_with(" FIXED=1"));
    let all: Vec<Recall> = repaired.filter_map(|v| recall(&v)).filter(|r| r.ordered > 0).collect();
    for Recall { name, ordered, claimed, by_operations, missed } in &all {
        let name = name.trim_start_matches("bugs/").trim_end_matches(" FIXED=1");
        let missed = missed.join("; ");
        writeln!(
            text,
            "| [{name}](../../harnesses/bugs/{name}) | {ordered} | {claimed} | {by_operations} | {missed} |"
        )
        .unwrap();
    }
    let sum = |of: fn(&Recall) -> usize| all.iter().map(of).sum::<usize>();
    let (ordered, claimed, by_operations) = (sum(|r| r.ordered), sum(|r| r.claimed), sum(|r| r.by_operations));
    let share = 100.0 * (claimed + by_operations) as f64 / ordered as f64;
    writeln!(text, "| all {} | {ordered} | {claimed} | {by_operations} | found: {share:.0} % |\n", all.len()).unwrap();
    text
}

const PAIRS: &str = "\
## Conflicting pairs

All variants of all harnesses. *Pairs* are pairs of sites that conflict and that one run can have both of. *Locks* and *order* are the pairs that a common lock, or the order of all their instances, eliminates; *order alone* are those that no lock eliminates. *Left* is reported, *one looper* the part of it that is never side by side. \
*Real*: of the pairs that are left in variants of at most 20,000 states, those that are side by side or in both orders in some run. The last column counts locks that protect nothing.

| folder | variants | pairs | locks | order | order alone | left | one looper | real | redundant locks |
|---|---|---|---|---|---|---|---|---|---|
";

fn pairs_section() -> String {
    let mut folders: BTreeMap<String, Eliminated> = BTreeMap::new();
    let mut all = Eliminated::default();
    for variant in variants() {
        let folder = variant.name.split('/').next().unwrap_or_default().to_owned();
        folders.entry(folder).or_default().add(&variant);
    }
    let mut text = PAIRS.to_owned();
    for (name, e) in &folders {
        text += &e.row(name);
        all.variants += e.variants;
        all.conflicting += e.conflicting;
        all.order += e.order;
        all.locks += e.locks;
        all.both += e.both;
        all.order_only += e.order_only;
        all.left += e.left;
        all.searched += e.searched;
        all.real += e.real;
        all.redundant += e.redundant;
    }
    text += &all.row("all");
    let share = |part: u64, of: u64| format!("{:.0} %", 100.0 * part as f64 / of.max(1) as f64);
    let eliminated = all.conflicting - all.left;
    writeln!(
        text,
        "\n| | here | AndRacer |\n|---|---|---|\n| pairs eliminated | {} | 45 % |\n| of these, by order | {} | 57 % |\n\
         | of those left, real | {} | 61 % |\n",
        share(eliminated, all.conflicting),
        share(all.order, eliminated),
        share(all.real, all.searched)
    )
    .unwrap();
    text
}

fn orders_section() -> String {
    let all = judge_harnesses(MOST_STATES);
    assert!(all.wrong.is_empty(), "{}", all.wrong.join("\n"));
    let judged = |locked_flags| {
        let options = StaticsOptions { locked_flags, ..StaticsOptions::default() };
        judge_with(0..2_000, random, false, |_| options)
    };
    let [without, with] = [false, true].map(judged);
    format!(
        "## Orders of accesses\n\nOf the {} variants of at most 20,000 states, {} pairs of sites that can conflict have one order \
         in all runs and are never side by side. The analysis orders {} of them, and {} more are settled: it knows the order, and \
         refutes nothing by it. That is {} %. Without the folder of components, of whose platform no rule speaks, it finds {} of \
         {}. Of {} pairs in all no claim is contradicted by a run.\n\n\
         Flags under a lock: where a condition is read under a lock, and the write that makes it true is in a block of that lock, the \
         whole block is past. Without this step {} of the pairs above are found instead of {}. Of {} random programs, which are \
         searched completely, {} of {} pairs with one order are found without it, and {} with it.\n\n{}",
        all.variants,
        all.one_order,
        all.claimed,
        all.settled,
        100 * (all.claimed + all.settled) / all.one_order,
        all.found_of_known,
        all.one_order_of_known,
        all.pairs,
        all.found_without_locked_flags,
        all.claimed + all.settled,
        with.programs,
        without.found,
        with.one_order,
        with.found,
        causes(&all.missed)
    )
}

/// Groups of missed pairs with one cause: what their texts contain, and the cause. The first one that fits counts.
const CAUSES: [(&[&str], &str); 7] = [
    (&["(cut)"], "an exception, a check or a guard, by which one access cuts the other one off"),
    (&["components/"], "the life cycle of components"),
    (&["coroutines/fact_shared_flow", "coroutines/fact_mutex"], "waiters in line, inside of the library `coroutines`"),
    (&["coroutines/"], "the failure of a job, the partner at a channel, a flag that is set again"),
    (&["messages/"], "pools, calls by `or now`, idle handlers"),
    (&["timers/", "bugs/", "cafa/", "queue/"], "a `cancel`, or a value that a task tests"),
    (
        &["sctbench/", "racefuzzer/", "convul/", "atomicity/"],
        "values under a lock: counters, fields, lists, what a local variable remembers",
    ),
];

/// Returns the missed pairs by cause.
fn causes(missed: &[String]) -> String {
    let mut counts = [0; CAUSES.len()];
    for pair in missed {
        let cause = CAUSES.iter().position(|(names, _)| names.iter().any(|name| pair.contains(name)));
        counts[cause.unwrap_or_else(|| panic!("{pair} is missed, and CAUSES does not say why"))] += 1;
    }
    let mut text = "| the order comes from | pairs that are missed |\n|---|---|\n".to_owned();
    for ((_, cause), count) in CAUSES.iter().zip(counts).filter(|(_, count)| *count > 0) {
        writeln!(text, "| {cause} | {count} |").unwrap();
    }
    text + "\n"
}

const PRINTED: &str = "\
## The rules as printed

600 random programs of each kind, each searched completely: pairs of tasks in one order in all runs, and what is claimed of them, right and wrong. *Corrected*: C1 to C3, I1 and I2, where c of C3 is another task than x. *As printed*: c may be x. Whatever the corrected rules claim and some run does not deny, the analysis claims.

| programs | pairs in order | corrected: right / wrong | as printed | the analysis |
|---|---|---|---|---|
";

/// Makes the program of a seed.
type Generator = fn(u64) -> Random;

fn printed_section() -> String {
    let mut text = PRINTED.to_owned();
    let kinds: [(&str, Generator); 5] = [
        ("posts, branches, loops, loopers made on the way", of_paper),
        ("and delays", with_delays),
        ("and posts to the front", with_fronts),
        ("and cancels", with_cancels),
        ("and quits", with_quits),
    ];
    for (name, make) in kinds {
        let all = count_printed(0..600, make);
        assert!(all.wrong.is_empty() && all.lacking.is_empty(), "{}", all.counts());
        let [corrected, printed] = [Reading::Corrected, Reading::Printed]
            .map(|reading| of_printed(&all, reading))
            .map(|[r, w]| format!("{r} / {w}"));
        let [right, wrong] = all.ours;
        writeln!(text, "| {name} | {} | {corrected} | {printed} | {right} / {wrong} |", all.ordered).unwrap();
    }
    text + "\n"
}

const TIMES: &str = "\
## Time by size

Programs of one shape with n tasks: the time of their unfolding and of the rules, and the most memory that these hold at once. *Complete*: nothing was folded because of the size.

| shape | tasks | seconds | MB | complete |
|---|---|---|---|---|
";

fn times_section() -> String {
    let mut text = TIMES.to_owned();
    for Shape { name, tasks, text: make } in SHAPES.into_iter().chain(MIXED) {
        let model = Model::from_text(name, &make(tasks), &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        let start = Instant::now();
        let statics = analyze(&model.program, &StaticsOptions::default());
        let took = start.elapsed().as_secs_f64();
        let complete = if statics.complete() { "yes" } else { "no" };
        let most = allocation_counter::measure(|| drop(analyze(&model.program, &StaticsOptions::default()))).bytes_max;
        writeln!(text, "| {name} | {tasks} | {took:.2} | {} | {complete} |", most / 1_000_000).unwrap();
    }
    text
}

#[test]
#[ignore = "minutes; it writes docs/results/static.md"]
fn static_page() {
    let text =
        [HEAD.to_owned(), recall_section(), pairs_section(), orders_section(), printed_section(), times_section()]
            .concat();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/static.md");
    std::fs::write(file, text).unwrap();
}
