//! Programs that several tests run.

use raceflip::native::Shared;
use raceflip::native::looper::HandlerThread;
use raceflip::native::sync::atomic::{AtomicUsize, Ordering};
use raceflip::native::sync::{Arc, Condvar, Mutex};
use raceflip::native::thread;
use raceflip::native::time::Duration;

const SEQ: Ordering = Ordering::SeqCst;

/// Two threads that lose an increment.
pub(crate) fn counter() {
    let count = Arc::new(AtomicUsize::new(0));
    let add = |count: &AtomicUsize| count.store(count.load(SEQ) + 1, SEQ);
    let other = count.clone();
    let adder = thread::spawn(move || add(&other));
    add(&count);
    adder.join().unwrap();
    assert_eq!(count.load(SEQ), 2, "an increment was lost");
}

/// Two threads that lose none.
pub(crate) fn locked_counter() {
    let count = Arc::new(Mutex::new(0));
    let other = count.clone();
    let adder = thread::spawn(move || *other.lock().unwrap() += 1);
    *count.lock().unwrap() += 1;
    adder.join().unwrap();
    assert_eq!(*count.lock().unwrap(), 2);
}

/// Two locks in two orders.
pub(crate) fn crossed_locks() {
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let (a2, b2) = (a.clone(), b.clone());
    let other = thread::spawn(move || {
        let _b = b2.lock().unwrap();
        let _a = a2.lock().unwrap();
    });
    {
        let _a = a.lock().unwrap();
        let _b = b.lock().unwrap();
    }
    other.join().unwrap();
}

/// RaceFuzzer's figure 2: the failure needs `k` steps of the other thread before the read.
pub(crate) fn figure_2(k: usize) -> impl Fn() + Send + Sync + Clone {
    move || {
        let x = Shared::new(0);
        let lock = Arc::new(Mutex::new(0));
        let (x2, lock2) = (x.clone(), lock.clone());
        let other = thread::spawn(move || {
            for _ in 0..k {
                *lock2.lock().unwrap() += 1;
            }
            assert_eq!(x2.get(), 0, "the write came first");
        });
        x.set(1);
        for _ in 0..k {
            *lock.lock().unwrap() += 1;
        }
        other.join().unwrap();
    }
}

/// A message that a timer and a thread may post in either order.
pub(crate) fn late_reply() {
    let main = HandlerThread::start();
    let screen = Shared::new(Some("screen"));
    let (reply, gone) = (screen.clone(), screen);
    let handler = main.handler();
    let network = thread::spawn(move || {
        handler.post(move || reply.with(|screen| assert!(screen.is_some(), "the screen is gone")));
    });
    main.handler().post_delayed(Duration::from_millis(50), move || gone.set(None));
    network.join().unwrap();
    main.quit_safely();
    main.join();
}

/// A bounded buffer of one place, whose two kinds of threads wait at one condition: a notify may wake the wrong one.
pub(crate) fn one_condition() {
    struct Buffer {
        full: Mutex<bool>,
        changed: Condvar,
    }
    let buffer = Arc::new(Buffer { full: Mutex::new(false), changed: Condvar::new() });
    let put = |buffer: &Buffer| {
        let mut full = buffer.changed.wait_while(buffer.full.lock().unwrap(), |full| *full).unwrap();
        *full = true;
        buffer.changed.notify_one();
    };
    let take = |buffer: &Buffer| {
        let mut full = buffer.changed.wait_while(buffer.full.lock().unwrap(), |full| !*full).unwrap();
        *full = false;
        buffer.changed.notify_one();
    };
    let spawn = |act: fn(&Buffer)| {
        let buffer = buffer.clone();
        thread::spawn(move || act(&buffer))
    };
    let all = [spawn(take), spawn(take), spawn(put), spawn(put)];
    all.into_iter().for_each(|thread| thread.join().unwrap());
}
