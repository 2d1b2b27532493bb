//! Async code: tasks, time, and the types of `tokio::sync`.

use crate::support::{checked, failure, outcomes, passes};
use raceflip::native::future::sync::{Mutex, Notify, Semaphore, mpsc, oneshot, watch};
use raceflip::native::future::time::{Duration, Instant, interval, sleep, timeout};
use raceflip::native::future::{Either, JoinError, block_on, race, spawn, yield_now};
use raceflip::native::sync::Arc;
use raceflip::native::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use raceflip::native::{Checker, thread};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

const SEQ: Ordering = Ordering::SeqCst;

/// Checks a program of one future.
fn runs<F: Future<Output = ()>>(f: impl Fn() -> F + Send + Sync + 'static) -> impl Fn() + Send + Sync + 'static {
    move || block_on(f())
}

/// Asserts that a program fails, and that the token replays the failure.
fn fails<F: Future<Output = ()>>(what: &str, f: impl Fn() -> F + Send + Sync + Clone + 'static) {
    let found = failure(runs(f.clone()));
    assert!(found.what.contains(what), "{found}");
    let again = Checker::new().name("test").replay(&found.token, runs(f)).expect_err("it fails again");
    assert_eq!(again.what, found.what);
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn tasks_run_beside_each_other_and_have_outputs() {
    let found = outcomes(|| {
        block_on(async {
            let count = Arc::new(AtomicUsize::new(0));
            let tasks = [1, 2].map(|number| {
                let count = count.clone();
                spawn(async move {
                    let before = count.load(SEQ);
                    yield_now().await;
                    count.store(before + 1, SEQ);
                    number
                })
            });
            let [a, b] = tasks;
            assert_eq!((b.await, a.await), (Ok(2), Ok(1)));
            count.load(SEQ)
        })
    });
    assert_eq!(found, [1, 2].into());
}

#[test]
fn an_aborted_task_is_dropped_where_it_waits() {
    struct Sets(Arc<AtomicBool>);
    impl Drop for Sets {
        fn drop(&mut self) {
            self.0.store(true, SEQ);
        }
    }
    passes(runs(|| async {
        let dropped = Arc::new(AtomicBool::new(false));
        let sets = Sets(dropped.clone());
        let task = spawn(async move {
            let _sets = sets;
            std::future::pending::<()>().await;
        });
        task.abort();
        assert_eq!((task.await, dropped.load(SEQ)), (Err(JoinError), true));
        let done = spawn(async { 7 });
        let handle = done.abort_handle();
        let ended = done.await;
        handle.abort();
        assert!(ended == Ok(7) && handle.is_finished());
    }));
}

#[test]
fn a_task_that_waits_for_nothing_is_a_deadlock_with_its_line() {
    let found = failure(runs(|| async {
        let (_sender, receiver) = oneshot::channel::<u8>();
        let _ = receiver.await;
    }));
    assert!(found.what.contains("deadlock") && found.what.contains("tests/native/asynchronous.rs:"), "{found}");
    // A task that waits when the main thread has ended is no deadlock.
    passes(runs(|| async {
        spawn(std::future::pending::<()>());
    }));
}

// A flag and a waker that is stored too late: the flag is set between the look and the store.
struct Late {
    ready: AtomicBool,
    waker: raceflip::native::sync::Mutex<Option<Waker>>,
    looks_again: bool,
}

impl Late {
    fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.ready.load(SEQ) {
            return Poll::Ready(());
        }
        *self.waker.lock().unwrap() = Some(context.waker().clone());
        if self.looks_again && self.ready.load(SEQ) { Poll::Ready(()) } else { Poll::Pending }
    }
}

fn late(looks_again: bool) -> impl Fn() -> Pin<Box<dyn Future<Output = ()>>> + Send + Sync + Clone + 'static {
    move || {
        Box::pin(async move {
            let late = Late { ready: AtomicBool::new(false), waker: Default::default(), looks_again };
            let late = Arc::new(late);
            let other = late.clone();
            let setter = thread::spawn(move || {
                other.ready.store(true, SEQ);
                let waker = other.waker.lock().unwrap().take();
                waker.into_iter().for_each(Waker::wake);
            });
            poll_fn(|context| late.poll(context)).await;
            setter.join().unwrap();
        })
    }
}

#[test]
fn a_lost_wake_up_is_found_and_its_repair_passes() {
    fails("deadlock", late(false));
    passes(runs(late(true)));
    let all = Checker::new().name("test").runs(100_000).every_run();
    assert!(all.try_check(runs(late(true))).unwrap().complete);
}

// A loop over a channel and a tick. A message is read in two steps; a tick between them drops it, unless the future of
// the read is kept from round to round.
fn reader(keeps: bool) -> impl Fn() -> Pin<Box<dyn Future<Output = ()>>> + Send + Sync + Clone + 'static {
    async fn read(messages: &mut mpsc::UnboundedReceiver<u32>) -> Option<u32> {
        let message = messages.recv().await;
        yield_now().await;
        message
    }
    move || {
        Box::pin(async move {
            let (sender, mut messages) = mpsc::unbounded_channel();
            let ticks = Arc::new(Notify::new());
            let tick = ticks.clone();
            let other = spawn(async move {
                tick.notify_one();
                sender.send(5).unwrap();
            });
            let mut kept = Box::pin(read(&mut messages));
            let mut got = None;
            for _ in 0..2 {
                if let Either::First(message) = race(kept.as_mut(), ticks.notified()).await {
                    got = message;
                    break;
                }
                if !keeps {
                    drop(kept);
                    kept = Box::pin(read(&mut messages));
                }
            }
            other.await.unwrap();
            assert_eq!(got, Some(5), "the message was lost");
        })
    }
}

#[test]
fn a_cancelled_branch_loses_a_message_and_one_that_is_kept_does_not() {
    fails("the message was lost", reader(false));
    passes(runs(reader(true)));
}

// A request whose answer may come when its time is up. The wrong code takes the connection for unused then.
fn request(checks: bool) -> impl Fn() -> Pin<Box<dyn Future<Output = ()>>> + Send + Sync + Clone + 'static {
    move || {
        Box::pin(async move {
            let (sender, mut answer) = oneshot::channel();
            let server = spawn(async move {
                sleep(ms(10)).await;
                sender.send("answer").is_ok()
            });
            let late = timeout(ms(10), &mut answer).await.is_err();
            answer.close();
            let unused = late && !(checks && answer.try_recv().is_ok());
            let sent = server.await.unwrap();
            assert!(!(unused && sent), "an answer was sent on a connection that counts as unused");
        })
    }
}

#[test]
fn a_timeout_that_fires_while_the_answer_arrives_is_found() {
    fails("counts as unused", request(false));
    passes(runs(request(true)));
}

#[test]
fn time_passes_for_futures_on_the_virtual_clock() {
    passes(runs(|| async {
        let start = Instant::now();
        sleep(ms(20)).await;
        assert!(start.elapsed() >= ms(20));
        assert_eq!(timeout(ms(5), async { 3 }).await, Ok(3));
        assert!(timeout(ms(5), std::future::pending::<()>()).await.is_err());
        let mut ticks = interval(ms(10));
        let first = ticks.tick().await;
        let third = {
            ticks.tick().await;
            ticks.tick().await
        };
        assert_eq!(third - first, ms(20));
    }));
    let found =
        outcomes(|| block_on(async { matches!(race(sleep(ms(10)), sleep(ms(20))).await, Either::First(())) as u8 }));
    assert_eq!(found, [0, 1].into(), "when both are due, either is first");
}

#[test]
fn a_semaphore_serves_in_order() {
    passes(runs(|| async {
        let semaphore = Arc::new(Semaphore::new(1));
        let order = Arc::new(raceflip::native::sync::Mutex::new(Vec::new()));
        let held = semaphore.acquire().await.unwrap();
        let mut tasks = Vec::new();
        for number in 0..3 {
            let (own, order) = (semaphore.clone(), order.clone());
            let mut waits = Box::pin(async move {
                let _permit = own.acquire().await.unwrap();
                order.lock().unwrap().push(number);
            });
            // Each one is queued before the next one comes.
            assert!(poll_fn(|context| Poll::Ready(waits.as_mut().poll(context).is_pending())).await);
            tasks.push(spawn(waits));
        }
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
        assert_eq!(semaphore.available_permits(), 1);
        semaphore.close();
        assert!(semaphore.acquire().await.is_err() && semaphore.try_acquire().is_err());
    }));
}

#[test]
fn a_permit_that_was_given_to_a_dropped_future_goes_on() {
    passes(runs(|| async {
        let semaphore = Arc::new(Semaphore::new(0));
        let own = semaphore.clone();
        let giver = spawn(async move { own.add_permits(1) });
        // The time may be up just when the permit comes.
        if timeout(ms(1), semaphore.acquire()).await.is_err() {
            let _permit = semaphore.acquire().await.unwrap();
        }
        giver.await.unwrap();
        assert_eq!(semaphore.available_permits(), 1);
    }));
}

#[test]
fn a_lock_excludes_over_an_await() {
    passes(runs(|| async {
        let lock = Arc::new(Mutex::new(0));
        let tasks = [(); 2].map(|()| {
            let lock = lock.clone();
            spawn(async move {
                let mut value = lock.lock().await;
                let before = *value;
                yield_now().await;
                *value = before + 1;
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert!(lock.try_lock().is_ok());
        assert_eq!(Arc::into_inner(lock).unwrap().into_inner(), 2);
    }));
}

#[test]
fn a_notification_is_kept_once_and_all_who_wait_are_notified() {
    passes(runs(|| async {
        let notify = Notify::new();
        notify.notify_one();
        notify.notify_one();
        notify.notified().await;
        assert!(timeout(ms(1), notify.notified()).await.is_err(), "two of them count once");
        let (first, second) = (notify.notified(), notify.notified());
        notify.notify_waiters();
        first.await;
        second.await;
        assert!(timeout(ms(1), notify.notified()).await.is_err(), "nothing is kept");
    }));
}

#[test]
fn channels_hold_what_they_say() {
    passes(runs(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        let other = sender.clone();
        let producers = [(sender, 1), (other, 3)].map(|(sender, first)| {
            spawn(async move {
                sender.send(first).await.unwrap();
                sender.send(first + 1).await.unwrap();
            })
        });
        let mut all = Vec::new();
        while let Some(message) = receiver.recv().await {
            all.push(message);
        }
        for producer in producers {
            producer.await.unwrap();
        }
        let place = |message| all.iter().position(|m| *m == message).expect("it was received");
        assert!(all.len() == 4 && place(1) < place(2) && place(3) < place(4));
        let (sender, mut receiver) = mpsc::channel(1);
        assert!(receiver.try_recv() == Err(mpsc::TryRecvError::Empty));
        sender.try_send(1).unwrap();
        assert_eq!(sender.try_send(2), Err(mpsc::TrySendError::Full(2)));
        receiver.close();
        assert!(sender.is_closed());
        assert_eq!(sender.send(3).await, Err(mpsc::SendError(3)));
        assert_eq!((receiver.recv().await, receiver.recv().await), (Some(1), None));
    }));
}

#[test]
fn a_watched_value_is_seen_once_for_each_change() {
    passes(runs(|| async {
        let (sender, mut receiver) = watch::channel(0);
        let mut late = sender.subscribe();
        let writer = spawn(async move {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        let seen = *late.wait_for(|value| *value == 2).await.unwrap();
        let mut last = *receiver.borrow_and_update();
        while receiver.changed().await.is_ok() {
            let now = *receiver.borrow();
            assert!(now > last, "{now} after {last}");
            last = now;
        }
        writer.await.unwrap();
        assert_eq!((seen, last), (2, 2));
    }));
}

#[test]
fn a_oneshot_tells_each_side_that_the_other_has_gone() {
    passes(runs(|| async {
        let (sender, receiver) = oneshot::channel::<u8>();
        drop(sender);
        assert!(receiver.await.is_err());
        let (mut sender, receiver) = oneshot::channel::<u8>();
        let dropper = spawn(async move { drop(receiver) });
        sender.closed().await;
        assert!(sender.is_closed() && sender.send(1) == Err(1));
        dropper.await.unwrap();
    }));
}

#[test]
fn wakers_may_be_kept_and_called_at_any_time() {
    static KEPT: std::sync::Mutex<Vec<Waker>> = std::sync::Mutex::new(Vec::new());
    passes(runs(|| async {
        // Those of earlier runs do nothing.
        let kept: Vec<Waker> = KEPT.lock().unwrap().clone();
        kept.iter().for_each(Waker::wake_by_ref);
        let waker = spawn(poll_fn(|context| Poll::Ready(context.waker().clone()))).await.unwrap();
        // Its task has ended.
        waker.wake_by_ref();
        KEPT.lock().unwrap().push(waker);
    }));
    // Outside of every run.
    KEPT.lock().unwrap().drain(..).for_each(Waker::wake);
}

#[test]
fn a_panic_in_a_task_fails_the_run() {
    let found = failure(runs(|| async {
        let _ = spawn(async { panic!("in a task") }).await;
    }));
    assert!(found.what.contains("in a task"), "{found}");
}

#[test]
fn the_number_of_workers_changes_no_report() {
    let report = |jobs| {
        let checker = Checker::new().name("test").runs(200).jobs(jobs);
        checker.try_check(runs(reader(false))).expect_err("a message is lost").text
    };
    assert!(report(1) == report(2) && report(1) == report(8));
    assert!(checked(runs(late(true))).is_ok());
}
