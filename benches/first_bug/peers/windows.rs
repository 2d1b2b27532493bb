//! `window` and RaceFuzzer's figure 2 for shuttle and loom; raceflip uses `benches/models/window.race` and
//! `harnesses/papers/racefuzzer_fig2.race`. Both tools offer the standard library's types under their own names, so
//! each program is written once, as a macro over the tool.
//!
//! Variables are atomics, whose accesses are scheduling points. A statement without effect is an access to an atomic
//! that no other thread uses.

macro_rules! programs {
    ($tool:ident) => {
        use crate::peers::{Program, failed};
        use ::$tool::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        use ::$tool::sync::{Arc as Shared, Mutex};
        use ::$tool::thread;

        pub(crate) fn window(k: u64) -> Program {
            std::sync::Arc::new(move || {
                let x = Shared::new(AtomicUsize::new(1));
                let writer = {
                    let x = x.clone();
                    thread::spawn(move || {
                        let own = AtomicUsize::new(0);
                        (0..k).for_each(|_| own.store(1, SeqCst));
                        x.store(0, SeqCst);
                        x.store(1, SeqCst);
                        (0..k).for_each(|_| own.store(1, SeqCst));
                    })
                };
                let reader = thread::spawn(move || {
                    let own = AtomicUsize::new(0);
                    (0..k).for_each(|_| own.store(1, SeqCst));
                    if x.load(SeqCst) == 0 {
                        failed();
                    }
                    (0..k).for_each(|_| own.store(1, SeqCst));
                });
                writer.join().expect("nobody panics");
                reader.join().expect("nobody panics");
            })
        }

        pub(crate) fn figure2(k: u64) -> Program {
            std::sync::Arc::new(move || {
                let shared = Shared::new((AtomicUsize::new(0), Mutex::new(())));
                let first = {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        let own = AtomicUsize::new(0);
                        let held = shared.1.lock().expect("nobody panics");
                        (0..k).for_each(|_| own.store(1, SeqCst));
                        drop(held);
                        if shared.0.load(SeqCst) == 0 {
                            failed();
                        }
                    })
                };
                let second = thread::spawn(move || {
                    let own = AtomicUsize::new(0);
                    shared.0.store(1, SeqCst);
                    let held = shared.1.lock().expect("nobody panics");
                    own.store(1, SeqCst);
                    drop(held);
                });
                first.join().expect("nobody panics");
                second.join().expect("nobody panics");
            })
        }
    };
}

pub(crate) mod on_shuttle {
    programs!(shuttle);
}

pub(crate) mod on_loom {
    programs!(loom);
}
