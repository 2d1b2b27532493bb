//! Tests that SURW makes all orders of the interesting events equally likely, by a chi-squared test, and that a random
//! walk does not.

use crate::chance::{chi_squared, chi_squared_limit};
use crate::load::{Model, load_bytes};
use raceflip::event::{Event, EventKind, Op, Outcome, Value};
use raceflip::exec::{Observer, run};
use raceflip::sched::{EventCounter, NamedStrategy, RoundRobin, SpecError, StrategySpec, SurwSpec};
use raceflip::vm::Vm;
use raceflip::world::{Limits, Machine, World};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// Returns the strategy with this name. If it needs counts of events, they come from a run under round robin.
pub(crate) fn named(model: &Model, name: &str, limits: Limits) -> NamedStrategy {
    let counts = |surw: &SurwSpec| {
        let mut machine = Machine::new(Vm::new(model.code.clone()), limits);
        let mut counter = EventCounter::new(surw.interesting(&model.code.setup.sites)?);
        run(&mut machine, &mut RoundRobin::default(), 0, &mut counter, &AtomicBool::new(false));
        Ok::<_, SpecError>(counter.counts(&machine.world))
    };
    let spec: StrategySpec = name.parse().unwrap_or_else(|e| panic!("{e}"));
    let spec = spec.with_counts(counts).unwrap_or_else(|e| panic!("{e}"));
    spec.build(&model.code.setup.sites).unwrap_or_else(|e| panic!("{e}"))
}

/// Observer that collects the values written to the first variable, in order.
#[derive(Default)]
struct Written(Vec<Value>);

impl Observer for Written {
    fn event(&mut self, _: &World, event: &Event) {
        if let EventKind::Performed { op: Op::Write(at, value), .. } = event.what
            && at.cell == 0
        {
            self.0.push(value);
        }
    }
}

/// Returns how often each order of the writes occurred over the seeds `0..seeds`.
fn orders(text: &str, strategy: &str, seeds: u64) -> BTreeMap<Vec<Value>, u64> {
    let model = load_bytes("orders.race", text.as_bytes(), &[]);
    let mut strategy = named(&model, strategy, Limits::default());
    let mut machine = Machine::new(Vm::new(model.code.clone()), Limits::default());
    let mut found = BTreeMap::new();
    for seed in 0..seeds {
        let mut written = Written::default();
        let summary = run(&mut machine, &mut strategy, seed, &mut written, &AtomicBool::new(false));
        assert_eq!(summary.outcome(), Some(&Outcome::Ok), "{text}, seed {seed}");
        *found.entry(written.0).or_default() += 1;
    }
    found
}

// Returns Pearson's statistic against equal probabilities of `orders` orders. Orders that never occurred count as well.
fn unevenness(found: &BTreeMap<Vec<Value>, u64>, orders: usize) -> f64 {
    let mut counts: Vec<u64> = found.values().copied().collect();
    assert!(counts.len() <= orders, "{found:?}");
    counts.resize(orders, 0);
    chi_squared(&counts, &vec![1.0 / orders as f64; orders])
}

/// Models, each with its name, its text, the number of orders of the writes of `x`, the strategy, and whether a random
/// walk is uneven.
const MODELS: [(&str, &str, usize, &str, bool); 12] = [
    ("three and two", "var x = 0; thread a { x = 1; x = 1; x = 1 }; thread b { x = 2; x = 2 }", 10, "surw", true),
    ("one and one", "var x = 0; thread a { x = 1 }; thread b { x = 2 }", 2, "surw", false),
    (
        "unequal work before each",
        "var x = 0; thread a { for i in 0..3 { skip; skip; skip; skip; x = 1 } }; thread b { x = 2; x = 2 }",
        10,
        "surw",
        true,
    ),
    (
        "work between and behind",
        "var x = 0; thread a { x = 1; for i in 0..9 { skip }; x = 1 }; thread b { x = 2; x = 2; for i in 0..30 { skip } }",
        6,
        "surw",
        true,
    ),
    (
        "three threads",
        "var x = 0; thread a { skip; skip; skip; x = 1; x = 1 }; thread b { x = 2; skip; x = 2 }; thread c { for i in 0..7 { skip }; x = 3 }",
        30,
        "surw",
        true,
    ),
    (
        "chosen statements",
        "var x = 0; var y = 0; thread a { for i in 0..2 { y = 1; y = 2; y = 3; @a: x = 1 } }; thread b { @b: x = 2; y = 5; @b2: x = 2 }",
        6,
        "surw:@a,@b,@b2",
        true,
    ),
    (
        "a thread that is forked",
        "var x = 0; thread a { x = 1; fork c(); x = 1; x = 1 }; task c() { skip; skip; x = 2; x = 2 }",
        6,
        "surw",
        true,
    ),
    (
        "a fork late in the parent's way, beside another thread",
        "var x = 0; thread a { skip; fork c(); x = 1 }; task c() { x = 2; x = 2 }; thread d { x = 3; x = 3 }",
        30,
        "surw",
        true,
    ),
    (
        "a task that is posted",
        "var x = 0; looper ui; thread p { skip; post t() to ui; x = 1; x = 1 }; task t() { x = 2; skip; x = 2 }",
        6,
        "surw",
        true,
    ),
    (
        "two tasks in a queue, beside a thread",
        "var x = 0; looper ui; thread p { post t() to ui; post t() to ui }; task t() { x = 2 }; thread q { x = 1; x = 1 }",
        6,
        "surw",
        true,
    ),
    (
        "a task that posts another",
        "var x = 0; looper ui; looper io; thread p { post t() to ui }; task t() { x = 2; post u() to io }; task u() { x = 2 }; thread q { x = 1; x = 1 }",
        6,
        "surw",
        true,
    ),
    ("a sleeper", "var x = 0; thread p { sleep 5; x = 2; sleep 5; x = 2 }; thread q { x = 1; x = 1 }", 6, "surw", true),
];

/// Under SURW, the counts of all orders fit equal probabilities (chi-squared).
#[test]
fn all_orders_are_equally_likely() {
    for (name, text, n, strategy, walk_is_uneven) in MODELS {
        let seeds = 400 * n as u64;
        let limit = chi_squared_limit(n);
        let found = orders(text, strategy, seeds);
        let uneven = unevenness(&found, n);
        assert!(uneven < limit, "{name}: {uneven:.1}, at most {limit:.1}: {found:?}");
        assert_eq!(found.len(), n, "{name}: {found:?}");
        let walk = unevenness(&orders(text, "random", seeds), n);
        assert_eq!(walk > limit, walk_is_uneven, "{name}: a random walk has {walk:.1}, the limit is {limit:.1}");
    }
}

/// The firing of an event is a post of the environment, so its task comes in each place with equal probability.
#[test]
fn a_firing_comes_anywhere() {
    let text = "var x = 0; looper ui; event tap on ui initially 1 { x = 2 }; thread q { for i in 0..10 { skip }; x = 1; x = 1 }";
    let mut found = BTreeMap::new();
    for (mut order, k) in orders(text, "surw", 1_200) {
        // An event that would fire after everything else does not have to fire. A run without it counts as that order.
        if order == [1, 1] {
            order.push(2);
        }
        *found.entry(order).or_default() += k;
    }
    let uneven = unevenness(&found, 3);
    assert!(uneven < chi_squared_limit(3), "{uneven}: {found:?}");
}

/// Operations of an event's task count for the task that enables the event.
#[test]
fn an_enabled_event_is_part_of_who_enables_it() {
    let text = "var x = 0; looper ui; event tap on ui { x = 2; x = 2 }; thread p { skip; enable tap; x = 3 }; thread q { x = 1 }";
    let mut found: BTreeMap<Vec<Value>, u64> = BTreeMap::new();
    for (order, k) in orders(text, "surw", 6_000) {
        // A firing after everything else does not have to happen, so missing writes count as the last ones.
        let mut order = order;
        let missing = 2 - order.iter().filter(|v| **v == 2).count();
        order.extend(vec![2; missing]);
        *found.entry(order).or_default() += k;
    }
    // The orders of 2, 2, 3 and 1.
    let uneven = unevenness(&found, 12);
    assert!(uneven < chi_squared_limit(12), "{uneven}: {found:?}");
}

/// Runs continue despite wrong counts, blocked threads and busy waiting.
#[test]
fn whoever_is_intended_nobody_waits_for_ever() {
    let check = |text: &str, strategy: &str| {
        for (order, k) in orders(text, strategy, 200) {
            assert!(!order.is_empty() && k > 0, "{text}");
        }
    };
    // The counts come from one branch (round robin), but runs also take the other one.
    check("var x = 0; thread a { if * { x = 1 } else { for i in 0..9 { x = 1 } } }; thread b { x = 2 }", "surw");
    // The thread that holds the lock is pending at its event while the intended thread waits for that lock.
    check("var x = 0; lock m; thread a { sync m { @a: x = 1 } }; thread b { sync m { @b: x = 2 } }", "surw:@a,@b");
    // The intended thread waits for a write that is held back.
    check(
        "var x = 0; var go = false; thread a { while !go { skip }; @a: x = 1 }; thread b { @b: x = 2; go = true }",
        "surw:@a,@b",
    );
}

#[test]
fn names_read_and_print() {
    let check = |text: &str| assert_eq!(text.parse::<StrategySpec>().expect(text).to_string(), text);
    check("surw");
    check("surw:@a,@b.write of x,12:5");
    check("pos");
    check("pctcp:2,steps=200");
    let refuse = |text: &str, says: &str| {
        let error = text.parse::<StrategySpec>().expect_err(text).to_string();
        assert!(error.contains(says), "{text}: {error}");
    };
    refuse("surw:", "`` is not a site");
    refuse("surw:@a,b", "`b` is not a site");
    refuse("surwx", "unknown strategy `surwx`");
    refuse("pctcp:0", "`0` is not a number from 1 to 1000: use `pctcp:3`");
    refuse("pos:3", "unknown strategy `pos:3`");
    let model = load_bytes("two.race", MODELS[1].1.as_bytes(), &[]);
    let build = |text: &str| text.parse::<StrategySpec>().expect(text).build(&model.code.setup.sites).err();
    assert!(matches!(build("surw"), Some(SpecError::Profile { .. })));
    assert!(matches!(build("surw:@nowhere"), Some(SpecError::NoSite { .. })));
}
