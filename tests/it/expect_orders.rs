//! Tests of `expect order @a ~ @b`, which states the verdict of an order pair as `expect race @a ~ @b` states that of a
//! pair of accesses.

use raceflip::campaign::{
    CampaignContext, CampaignPlan, DetectionPlan, LineVerdict, NoProgress, TestPlan, TrialPlan, test,
};
use raceflip::vm::Model;
use std::sync::atomic::AtomicBool;

/// A model in which a notification that comes too early is lost.
const LOST: &str = "lock m\nthread a { sync m { @n: notify m } }\nthread b { sync m { @w: wait m } }\n";

/// A model in which nothing orders the two operations, and neither order is harmful.
const COUNTED: &str = "semaphore s = 0\nthread a { @u: up s }\nthread b { @d: down s }\n";

/// A model in which the post is always performed before the fork that leads to the cancel.
const ORDERED: &str =
    "looper main\ntask m() { skip }\ntask c() { @c: cancel m on main }\nthread a { @p: post m() to main; fork c() }\n";

/// Returns for each line `met`, or the reason why it does not hold.
fn held(model: &str, lines: &[&str]) -> Vec<String> {
    let lines: String = lines.iter().map(|line| format!("expect {line}\n")).collect();
    let model = Model::from_text("m.race", &format!("{model}{lines}"), &[]).unwrap_or_else(|e| panic!("{e}"));
    let campaign = CampaignPlan {
        detection: DetectionPlan { runs: 100, ..DetectionPlan::default() },
        trials: TrialPlan { count: 100, ..TrialPlan::default() },
        ..CampaignPlan::new(&model)
    };
    let plan = TestPlan { model: &model, campaign, walks: 100, states: 0, saved: &[], shrinks: false };
    let tested = test(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
    let told = |verdict: &LineVerdict| match verdict {
        LineVerdict::Met => "met".to_owned(),
        LineVerdict::Unmet(why, ..) => why.join(", "),
        other => format!("{other:?}"),
    };
    tested.lines.iter().map(|line| told(&line.verdict)).collect()
}

#[test]
fn a_verdict_that_differs_breaks_the_line() {
    let told = held(
        LOST,
        &[
            "order @n ~ @w",
            "order @w ~ @n: real",
            "order @n ~ @w: real, harmful",
            "order @n ~ @w: false",
            "no order @n ~ @w",
        ],
    );
    assert_eq!(told[..3], ["met", "met", "met"]);
    assert_eq!(told[3], "the pair was confirmed");
    assert!(told[4].starts_with("the pair was reported, and `no order` says that no detector reports it"), "{told:?}");
    let told = held(COUNTED, &["order @u ~ @d", "order @u ~ @d: false", "order @u ~ @d: harmful"]);
    assert_eq!(told, ["met", "met", "the pair was reported, and not confirmed"]);
    let told = held(ORDERED, &["no order @p ~ @c", "order @p ~ @c"]);
    assert_eq!(told, ["met", "the pair was not reported"]);
}

/// Two acquisitions whose sections have no effect on each other are no order pair, and the reason says that. They are
/// one as soon as the sections conflict.
#[test]
fn acquisitions_without_a_conflict_are_explained() {
    let locks = |a: &str, b: &str| {
        format!("lock m\nvar x = 0\nthread a {{ @a: sync m {{ {a} }} }}\nthread b {{ @b: sync m {{ {b} }} }}\n")
    };
    let lines = ["order @a ~ @b", "order @a ~ @b: real", "no order @a ~ @b"];
    for (a, b) in [("skip", "skip"), ("let v = x", "let v = x"), ("x = 1", "skip")] {
        let told = held(&locks(a, b), &lines);
        for why in &told[..2] {
            assert!(why.contains("only if their critical sections touch something in common"), "{a} {b}: {why}");
        }
        assert_eq!(told[2], "met");
    }
    let told = held(&locks("x = 1", "x = 2"), &lines);
    assert_eq!(told[..2], ["met", "met"]);
    let sides = "rwlock rw\nthread a { @a: read rw { skip } }\nthread b { @b: write rw { skip } }\n";
    let told = held(sides, &["order @a ~ @b"]);
    assert!(told[0].contains("only if their critical sections touch something in common"), "{told:?}");
}

#[test]
fn what_cannot_be_said_is_refused() {
    let error =
        |line: &str| Model::from_text("m.race", &format!("{LOST}expect {line}\n"), &[]).unwrap_err().to_string();
    let told = error("race @n ~ @w");
    assert!(told.contains("`expect order @a ~ @b`"), "{told}");
    assert!(error("no order @n, @w: real").contains("`no` cannot be used before this `order`"));
    assert!(error("order @n ~ @w: never").contains("never"));
    assert!(error("order @n ~ @w, @n").contains("expected"));
    assert!(error("no order @n ~ @w: real").contains("`no order` cannot have a word"));
}
