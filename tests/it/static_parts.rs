//! Short programs for the rules about async tasks, flags under locks, and ways that come together: what they find, and
//! what they must leave alone.

use crate::static_claims::contradicted;
use crate::static_truth::order_facts;
use raceflip::event::{Site, SiteId};
use raceflip::statics::{SitesClaim, Statics, StaticsOptions, analyze};
use raceflip::vm::Model;

/// Programs in which the access labelled `first` is past before that labelled `then`, with a word of the reason.
const ORDERED: [(&str, &str, &str); 13] = [
    (
        "a launch that runs at once",
        "CALLED",
        "var v = 0\nlooper main\nasync task f() { @first: v = 1; yield; v = 3 }\n\
         task t() { launch f() now; @then: v = 2 }\nthread env { post t() to main }\n",
    ),
    (
        "a launch inside a launch",
        "CALLED",
        "var v = 0\nlooper main\nasync task g() micro { @first: v = 1 }\nasync task f() micro { launch g(); yield }\n\
         task t() { launch f(); @then: v = 2 }\nthread env { post t() to main }\n",
    ),
    (
        "the message of a launch",
        "FIFO",
        "var v = 0\nlooper main\nasync task f() { @first: v = 1; sleep 5; v = 3 }\ntask t() { @then: v = 2 }\n\
         thread env { launch f() on main; post t() to main }\n",
    ),
    (
        "the rest comes behind the launching task",
        "NOPRE",
        "var v = 0\nlooper main\nasync task f() micro { yield; @then: v = 1 }\ntask t() { launch f(); @first: v = 2 }\n\
         thread env { post t() to main }\n",
    ),
    (
        "two yields",
        "FIFO",
        "var v = 0\nlooper main\nasync task f() { yield; @first: v = 1 }\nasync task g() { yield; @then: v = 2 }\n\
         task t() { launch f() now; launch g() now }\nthread env { post t() to main }\n",
    ),
    (
        "a microtask before the next message",
        "FRONT",
        "var v = 0\nlooper main\nasync task f() micro { yield; @first: v = 1 }\ntask next() { @then: v = 2 }\n\
         task t() { post next() to main; launch f() }\nthread env { post t() to main }\n",
    ),
    (
        "a job is joined with its children",
        "JOIN",
        "var v = 0\nlooper main\nasync task g() { sleep 3; @first: v = 1 }\nasync task f() { launch g() }\n\
         thread env { let j = launch f() on main; join j; @then: v = 2 }\n",
    ),
    (
        "a block waits for its jobs",
        "JOIN",
        "var v = 0\nlooper main\nasync task g() { sleep 3; @first: v = 1 }\n\
         async task f() { scope { launch g() }; @then: v = 2 }\nthread env { launch f() on main }\n",
    ),
    (
        "a job on a pool is joined",
        "JOIN",
        "var v = 0\npool cpu = 2\nlooper main\nasync task g() { yield; @first: v = 1 }\n\
         async task f() { let j = launch g() on cpu; join j; @then: v = 2 }\nthread env { launch f() on main }\n",
    ),
    (
        "the block of a writer is over",
        "lock",
        "var v = 0\nvar ready = false\nlock m\nthread a { sync m { ready = true; @first: v = 1 } }\n\
         thread b { sync m { while !ready { wait m } }; @then: v = 2 }\nthread c { loop { sync m { notify m } } }\n",
    ),
    (
        "an element of an array",
        "FLAG",
        "var v = 0\nvar ready: bool[2]\nthread a { @first: v = 1; ready[1] = true }\nthread b { ready[0] = true }\n\
         thread c { await ready[1]; @then: v = 2 }\n",
    ),
    (
        "both ways",
        "WAYS",
        "var v = 0\nvar g = false\nvar h = false\nthread a { @first: v = 1; g = true; h = true }\n\
         thread b { if * { await g } else { await h }; @then: v = 2 }\n",
    ),
    (
        "turns in a circle",
        "FLAG",
        "var v = 0\nvar turn: int[2]\nvar n = 2\nthread start { @first: v = 1; turn[0] = 1 }\n\
         thread a { let k = n; while k > 0 { k -= 1; await turn[0] == 1; turn[0] = 0; turn[1] = 1 } }\n\
         thread b { let k = n; while k > 0 { k -= 1; await turn[1] == 1; turn[1] = 0; @then: v = 2; turn[0] = 1 } }\n",
    ),
];

/// Programs in which a run denies that the access labelled `first` is past before that labelled `then`, though it looks
/// like one of the rules.
const OPEN: [(&str, &str); 10] = [
    (
        "the rest of a job that runs at once",
        "var v = 0\nlooper main\nasync task f() { yield; @first: v = 1 }\ntask t() { launch f() now; @then: v = 2 }\n\
         thread env { post t() to main }\n",
    ),
    (
        "a wait that may be over",
        "var v = 0\nsemaphore s = 1\nlooper main\nasync task f() { down s; @then: v = 1 }\n\
         task t() { launch f() now; @first: v = 2 }\nthread env { post t() to main }\n",
    ),
    (
        "a job is no task of its looper after a switch",
        "var v = 0\nlooper main\nlooper other\nasync task f() { switch to other; @first: v = 1 }\n\
         task t() { @then: v = 2 }\nthread env { launch f() on main; post t() to main }\n",
    ),
    (
        "a cancelled job has not begun",
        "var v = 0\nlooper main\nthread w { @first: v = 1 }\nasync task f() { join w; yield }\n\
         thread env { let j = launch f() on main; cancel j; join j; @then: v = 2 }\n",
    ),
    (
        "a detached child",
        "var v = 0\nlooper main\nasync task g() { sleep 3; @first: v = 1 }\nasync task f() { launch g() detached }\n\
         thread env { let j = launch f() on main; join j; @then: v = 2 }\n",
    ),
    (
        "a read without the lock",
        "var v = 0\nvar ready = false\nlock m\nthread a { sync m { ready = true; @first: v = 1 } }\n\
         thread b { await ready; @then: v = 2 }\n",
    ),
    (
        "a block that waits",
        "var v = 0\nvar ready = false\nlock m\nthread a { sync m { ready = true; wait m; @first: v = 1 } }\n\
         thread b { sync m { await ready }; @then: v = 2 }\nthread c { sync m { notify m } }\n",
    ),
    (
        "a block that a thread leaves by an exception",
        "app \"x\" { uncaught = thread }\nvar v = 0\nvar ready = false\nlock m\n\
         thread a { sync m { ready = true; if * { throw Oops } }; @first: v = 1 }\n\
         thread b { sync m { if ready { @then: v = 2 } } }\n",
    ),
    (
        "the reader is inside the block itself",
        "var v = 0\nvar ready = false\nlock m\nlooper main\ntask t() { @then: v = 2 }\n\
         thread a { sync m { ready = true; sync m { if ready { post t() to main; @first: v = 1 } } } }\n",
    ),
    (
        "a launch that runs inside the block",
        "var v = 0\nvar ready = false\nlock m\nlooper main\ntask u() { @then: v = 2 }\n\
         async task f() { sync m { if ready { post u() to main } } }\n\
         looper other\ntask t() { sync m { ready = true; launch f() now; @first: v = 1 } }\n\
         thread env { post t() to other }\n",
    ),
];

/// Programs of which no guard may settle an order: the condition may have changed, or the other task runs inside.
const UNSETTLED: [(&str, &str); 2] = [
    (
        "an async task goes on after its condition",
        "var v = false\nvar n = 0\nlooper main\nasync task f() { await v; n = 1; @first: if v { n = 2 } }\n\
         task up() { v = true }\ntask down() { @then: v = false }\n\
         thread env { launch f() on main; post up() to main; post down() to main }\n",
    ),
    (
        "a launch inside the guarded block",
        "var v = true\nvar n = 0\nlooper main\nasync task f() { @then: v = false }\n\
         task t() { if v { launch f() now; @first: v = v } }\nthread env { post t() to main }\n",
    ),
];

fn model(name: &str, text: &str) -> Model {
    Model::from_text(name, text, &[]).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"))
}

// Returns the sites of the accesses to `v` that are labelled `first` and `then`; of two the last one.
fn labelled(model: &Model) -> [SiteId; 2] {
    ["first", "then"].map(|label| {
        let is = |s: &Site| s.label.as_deref() == Some(label) && s.place == "v" && s.kind.access().is_some();
        let found = model.program.sites.enumerate().filter(|(_, s)| is(s)).map(|(id, _)| id);
        found.last().unwrap_or_else(|| panic!("{}: no access is labelled {label}", model.source.name()))
    })
}

fn claim(statics: &Statics, [first, then]: [SiteId; 2]) -> SitesClaim {
    statics.sites(first, then)
}

#[test]
fn parts_of_jobs_and_flags_are_in_order() {
    for (name, word, text) in ORDERED {
        let model = model(name, text);
        let sites = labelled(&model);
        let statics = analyze(&model.program, &StaticsOptions::explained());
        assert_eq!(claim(&statics, sites), SitesClaim::Ordered { first: sites[0] }, "{name}");
        let why = statics.why(sites[0], sites[1]).join("; ");
        assert!(why.contains(word), "{name}: {why}");
        if let Some(facts) = order_facts(&model, 20_000) {
            assert_eq!(contradicted(&model, &facts), None, "{name}");
        }
    }
}

#[test]
fn what_some_run_denies_is_left_open() {
    for (name, text) in OPEN {
        let model = model(name, text);
        let [first, then] = labelled(&model);
        let facts = order_facts(&model, 20_000).unwrap_or_else(|| panic!("{name} has few states"));
        assert!(facts.denies(first, then).is_some(), "{name}: no run denies it");
        assert_eq!(contradicted(&model, &facts), None, "{name}");
        let claim = claim(&analyze(&model.program, &StaticsOptions::default()), [first, then]);
        assert_ne!(claim, SitesClaim::Ordered { first }, "{name}");
    }
}

#[test]
fn guards_settle_nothing_that_changes_meanwhile() {
    for (name, text) in UNSETTLED {
        let model = model(name, text);
        let [first, then] = labelled(&model);
        let facts = order_facts(&model, 20_000).unwrap_or_else(|| panic!("{name} has few states"));
        assert!(facts.orders.contains(&(then, first)), "{name}: no run has the other order");
        assert_eq!(analyze(&model.program, &StaticsOptions::default()).settled(first, then), None, "{name}");
        assert_eq!(contradicted(&model, &facts), None, "{name}");
    }
}
