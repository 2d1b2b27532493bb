//! Tests that a campaign that is stopped at any moment reports only verdicts that the whole campaign reports, too.

use crate::load::load_bytes;
use raceflip::campaign::{
    CampaignContext, CampaignPlan, CampaignProgress, Confirmation, DetectionPlan, NoProgress, TrialPlan, confirm,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress that sets the stop flag at its n-th report.
struct Stopping<'s> {
    left: AtomicU64,
    stop: &'s AtomicBool,
}

impl Stopping<'_> {
    fn told(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl CampaignProgress for Stopping<'_> {
    fn phase(&self, _: &str, _: u64) {
        self.told();
    }

    fn done(&self) {
        self.told();
    }
}

/// Models with a harmful pair of two statements, with a pair of one statement with itself, and with an order that needs
/// a hold as well as order pairs.
const MODELS: [&str; 3] = [
    "var x = 0\nthread a { x += 1; x += 2 }\nthread b { x += 1; assert x > 3 }\n",
    "var x = 0\ntask add() { x += 1 }\nthread main { fork add(); fork add() }\n",
    "var x = 0\nlooper main\ntask one() { x += 1 }\ntask two() { x += 1; assert x < 2 }\nthread a { post one() to main }\nthread b { post two() to main }\n",
];

#[test]
fn at_every_moment() {
    for text in MODELS {
        let model = load_bytes("stopped.race", text.as_bytes(), &[]);
        let plan = CampaignPlan {
            jobs: 1,
            detection: DetectionPlan { runs: 4, ..DetectionPlan::default() },
            trials: TrialPlan { count: 8, ..TrialPlan::default() },
            ..CampaignPlan::new(&model)
        };
        let made =
            |progress: &dyn CampaignProgress, stop: &AtomicBool| confirm(&plan, CampaignContext { stop, progress });
        let whole = made(&NoProgress, &AtomicBool::new(false));
        assert!(whole.complete() && !whole.pairs.is_empty());
        let mut moments = 0;
        loop {
            // Not each one: that takes minutes.
            moments += 4;
            let stop = AtomicBool::new(false);
            let part = made(&Stopping { left: AtomicU64::new(moments), stop: &stop }, &stop);
            if !part.interrupted {
                break;
            }
            assert!(!part.complete());
            agrees(&part, &whole);
        }
        assert!(moments > 50, "{moments}");
    }
}

// Pairs that the stopped campaign calls complete must have the verdict and the harms of the whole campaign.
fn agrees(part: &Confirmation, whole: &Confirmation) {
    for pair in part.pairs.iter().chain(&part.orders).filter(|p| p.trials.complete) {
        let same = whole.pairs.iter().chain(&whole.orders).find(|p| p.pair == pair.pair);
        let same = same.unwrap_or_else(|| panic!("{:?}", pair.pair));
        assert_eq!((&pair.proof, &pair.comparison.harms), (&same.proof, &same.comparison.harms));
    }
}
