//! Distributes work over several workers and returns the results in order, so that the number of workers does not
//! change a result.

use crossbeam::channel;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Performs items `0..n` with `jobs` workers, each with a state of its own, and returns the results by item. Once
/// `stop` is set, no further item begins; these items are `None`. `done` is called for each finished item, in any
/// order.
pub(in crate::campaign) fn map<W, R: Send>(
    jobs: usize,
    n: usize,
    stop: &AtomicBool,
    state: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, usize) -> R + Sync,
    done: impl Fn() + Sync,
) -> Vec<Option<R>> {
    let mut results: Vec<Option<R>> = (0..n).map(|_| None).collect();
    let item_result = |own: &mut W, item: usize| {
        let result = work(own, item);
        done();
        result
    };
    in_order(jobs, n, stop, state, item_result, |item, result| results[item] = Some(result));
    results
}

/// Performs items `0..n` with `jobs` workers, each with a state of its own. Once `stop` is set, no further item begins.
/// `each` receives every result as soon as it and all results before it are there. Results behind an item that did not
/// begin are passed at the end.
pub fn in_order<W, R: Send>(
    jobs: usize,
    n: usize,
    stop: &AtomicBool,
    state: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, usize) -> R + Sync,
    mut each: impl FnMut(usize, R),
) {
    let next = AtomicUsize::new(0);
    let (send, receive) = channel::unbounded();
    std::thread::scope(|scope| {
        let mut workers = 0;
        for _ in 0..jobs.clamp(1, n.max(1)) {
            let send = send.clone();
            let (next, state, work) = (&next, &state, &work);
            let worker = std::thread::Builder::new().spawn_scoped(scope, move || {
                let mut own = state();
                loop {
                    let item = next.fetch_add(1, Ordering::Relaxed);
                    if item >= n || stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let result = work(&mut own, item);
                    if send.send((item, result)).is_err() {
                        break;
                    }
                }
            });
            // The system provides no more threads: the existing workers do the work.
            if worker.is_err() {
                break;
            }
            workers += 1;
        }
        drop(send);
        if workers == 0 {
            let mut own = state();
            for item in 0..n {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                each(item, work(&mut own, item));
            }
            return;
        }
        // Results that have arrived before their turn.
        let mut early = BTreeMap::new();
        let mut turn = 0;
        for (item, result) in receive {
            early.insert(item, result);
            while let Some(result) = early.remove(&turn) {
                each(turn, result);
                turn += 1;
            }
        }
        early.into_iter().for_each(|(item, result)| each(item, result));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_for_any_number_of_workers() {
        let stop = AtomicBool::new(false);
        for jobs in [1, 2, 7] {
            let squares = map(jobs, 100, &stop, || 0u64, |_, i| (i * i) as u64, || {});
            assert_eq!(squares, (0..100).map(|i| Some(i * i)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_begins_after_a_stop() {
        let stop = AtomicBool::new(true);
        assert_eq!(map(2, 3, &stop, || (), |(), i| i, || {}), vec![None, None, None]);
    }
}
