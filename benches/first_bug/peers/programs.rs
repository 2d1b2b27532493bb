//! Programs of SCTBench for shuttle: they match the models in `harnesses/sctbench` and have the same assertions.
//!
//! A variable that threads race on is an atomic, whose loads and stores are scheduling points, like accesses of a
//! model's variable. Data that a lock protects is plain data inside the mutex, as usual in Rust; its accesses are no
//! scheduling points, while each is one or two steps in a model. A model's threads exist from the start; here the main
//! thread starts them and joins them.

use super::{Program, assert_that};
use shuttle::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;
use std::sync::Arc;

/// Returns the program for a model with these constants; `None` if it is not written for shuttle.
pub(crate) fn program(path: &str, defines: &[(&str, i64)]) -> Option<Program> {
    let name = path.strip_prefix("harnesses/sctbench/")?.strip_suffix(".race")?;
    let define = |name: &str, default: usize| {
        defines.iter().find(|(n, _)| *n == name).map_or(default, |(_, value)| *value as usize)
    };
    Some(match name {
        "account" => Arc::new(account),
        "bluetooth_driver" => Arc::new(bluetooth_driver),
        "bounded_buffer" => Arc::new(bounded_buffer),
        "circular_buffer" => Arc::new(circular_buffer),
        "lazy01" => Arc::new(lazy01),
        "queue" => Arc::new(queue),
        "reorder" => {
            let (setters, checkers) = (define("SETTERS", 2), define("CHECKERS", 1));
            Arc::new(move || reorder(setters, checkers))
        }
        "stack" => Arc::new(stack),
        "stringbuffer" => Arc::new(stringbuffer),
        "token_ring" => Arc::new(token_ring),
        "twostage" => {
            let (writers, readers) = (define("WRITERS", 1), define("READERS", 1));
            Arc::new(move || twostage(writers, readers))
        }
        "wronglock" => {
            let others = define("OTHERS", 3);
            Arc::new(move || wronglock(others))
        }
        _ => return None,
    })
}

// Threads of one program that share its state.
struct Threads<S> {
    state: Arc<S>,
    all: Vec<thread::JoinHandle<()>>,
}

impl<S: Send + Sync + 'static> Threads<S> {
    fn of(state: S) -> Self {
        Self { state: Arc::new(state), all: Vec::new() }
    }

    fn start(&mut self, body: impl FnOnce(&S) + Send + 'static) {
        let state = self.state.clone();
        self.all.push(thread::spawn(move || body(&state)));
    }

    fn join(self) -> Arc<S> {
        self.all.into_iter().for_each(|t| t.join().expect("nobody panics"));
        self.state
    }
}

// Runs a critical section on the data that a lock protects.
fn with<T, R>(lock: &Mutex<T>, section: impl FnOnce(&mut T) -> R) -> R {
    section(&mut lock.lock().expect("nobody panics"))
}

fn account() {
    // Balance, whether the deposit is done, whether the withdrawal is done.
    let mut threads = Threads::of(Mutex::new((1, false, false)));
    threads.start(|m| {
        with(m, |(balance, deposit, withdrawal)| assert_that(!(*deposit && *withdrawal) || *balance == 1 - 2 - 4))
    });
    threads.start(|m| with(m, |s| (s.0, s.1) = (s.0 + 2, true)));
    threads.start(|m| with(m, |s| (s.0, s.2) = (s.0 - 4, true)));
    threads.join();
}

struct Driver {
    pending: Mutex<i32>,
    stopping: AtomicBool,
    event: AtomicBool,
    stopped: AtomicBool,
}

fn bluetooth_driver() {
    fn done(d: &Driver) {
        let left = with(&d.pending, |n| {
            *n -= 1;
            *n
        });
        if left == 0 {
            d.event.store(true, SeqCst);
        }
    }
    let mut threads = Threads::of(Driver {
        pending: Mutex::new(1),
        stopping: AtomicBool::new(false),
        event: AtomicBool::new(false),
        stopped: AtomicBool::new(false),
    });
    threads.start(|d| {
        d.stopping.store(true, SeqCst);
        done(d);
        if d.event.load(SeqCst) {
            d.stopped.store(true, SeqCst);
        }
    });
    let d = threads.state.clone();
    if !d.stopping.load(SeqCst) {
        with(&d.pending, |n| *n += 1);
        assert_that(!d.stopped.load(SeqCst));
        done(&d);
    }
    threads.join();
}

#[derive(Default)]
struct Ring {
    buffer: [i32; 3],
    head: usize,
    rear: usize,
    producers_wait: u32,
    consumers_wait: u32,
}

fn bounded_buffer() {
    type Shared = (Mutex<Ring>, Condvar, Condvar);
    fn put((m, not_full, not_empty): &Shared, x: i32) {
        let mut r = m.lock().expect("nobody panics");
        if (r.rear + 1) % 3 == r.head {
            r.producers_wait += 1;
            while (r.rear + 1) % 3 == r.head {
                r = not_full.wait(r).expect("nobody panics");
            }
            r.producers_wait -= 1;
        }
        let rear = r.rear;
        r.buffer[rear] = x;
        r.rear = (rear + 1) % 3;
        if r.consumers_wait > 0 {
            not_empty.notify_one();
        }
    }
    fn take((m, not_full, not_empty): &Shared) {
        let mut r = m.lock().expect("nobody panics");
        if r.head == r.rear {
            r.consumers_wait += 1;
            while r.head == r.rear {
                r = not_empty.wait(r).expect("nobody panics");
            }
            r.consumers_wait -= 1;
        }
        drop(r);
        let mut r = m.lock().expect("nobody panics");
        assert_that(r.head != r.rear);
        r.head = (r.head + 1) % 3;
        if r.producers_wait > 0 {
            not_full.notify_one();
        }
    }
    let mut threads: Threads<Shared> = Threads::of((Mutex::new(Ring::default()), Condvar::new(), Condvar::new()));
    for _ in 0..2 {
        threads.start(|s| (0..4).for_each(|k| put(s, k)));
    }
    for _ in 0..2 {
        threads.start(|s| (0..4).for_each(|_| take(s)));
    }
    threads.join();
}

#[derive(Default)]
struct Circular {
    buffer: [i32; 10],
    first: usize,
    next: usize,
    received: bool,
}

fn circular_buffer() {
    // `received` is true while it is the consumer's turn.
    let mut threads = Threads::of(Mutex::new(Circular::default()));
    threads.start(|m| {
        for i in 0..7 {
            with(m, |c| {
                if !c.received {
                    c.buffer[c.next] = i;
                    c.next = (c.next + 1) % 10;
                    c.received = true;
                }
            });
        }
    });
    threads.start(|m| {
        for i in 0..7 {
            with(m, |c| {
                if c.received {
                    let mut item = -1;
                    if c.next > 0 && c.first < 10 {
                        item = c.buffer[c.first];
                        c.first += 1;
                    }
                    assert_that(item == i);
                    c.received = false;
                }
            });
        }
    });
    threads.join();
}

fn lazy01() {
    let mut threads = Threads::of(Mutex::new(0));
    threads.start(|m| with(m, |data| assert_that(*data < 3)));
    threads.start(|m| with(m, |data| *data += 2));
    threads.start(|m| with(m, |data| *data += 1));
    threads.join();
}

struct Queue {
    element: [i32; 21],
    stored: [i32; 20],
    head: usize,
    tail: usize,
    full: bool,
}

impl Queue {
    fn enqueue(&mut self, at: usize, x: i32) {
        self.element[self.tail] = x;
        self.tail = if self.tail == 20 { 1 } else { self.tail + 1 };
        self.stored[at] = x;
    }

    fn dequeue(&mut self) -> i32 {
        let x = self.element[self.head];
        self.head = if self.head == 20 { 1 } else { self.head + 1 };
        x
    }
}

fn queue() {
    let mut threads =
        Threads::of(Mutex::new(Queue { element: [0; 21], stored: [0; 20], head: 0, tail: 0, full: false }));
    threads.start(|m| {
        let mut value = 0;
        with(m, |q| q.enqueue(0, value));
        for i in 0..19 {
            with(m, |q| {
                if !q.full {
                    value += 1;
                    q.enqueue(i + 1, value);
                    q.full = true;
                }
            });
        }
    });
    threads.start(|m| {
        for i in 0..20 {
            with(m, |q| {
                if q.full {
                    let x = q.dequeue();
                    assert_that(x == q.stored[i]);
                    q.full = false;
                }
            });
        }
    });
    threads.join();
}

fn reorder(setters: usize, checkers: usize) {
    let mut threads = Threads::of((AtomicI64::new(0), AtomicI64::new(0)));
    for _ in 0..setters {
        threads.start(|(a, b)| {
            a.store(1, SeqCst);
            b.store(-1, SeqCst);
        });
    }
    for _ in 0..checkers {
        threads.start(|(a, b)| {
            let holds = a.load(SeqCst) == 0 && b.load(SeqCst) == 0 || a.load(SeqCst) == 1 && b.load(SeqCst) == -1;
            assert_that(holds);
        });
    }
    threads.join();
}

fn stack() {
    // The top of the stack, and the flag.
    let mut threads = Threads::of(Mutex::new((0, false)));
    threads.start(|m| (0..10).for_each(|_| with(m, |s| *s = (s.0 + 1, true))));
    threads.start(|m| {
        for _ in 0..10 {
            with(m, |(top, flag)| {
                if *flag {
                    assert_that(*top != 0);
                    *top -= 1;
                }
            });
        }
    });
    threads.join();
}

fn stringbuffer() {
    let mut threads = Threads::of(Mutex::new(3));
    threads.start(|other| {
        with(other, |count| {
            if *count >= 3 {
                *count -= 3;
            }
        });
        with(other, |count| *count += 3);
    });
    let own = Mutex::new(0);
    let other = threads.state.clone();
    with(&own, |count| {
        let n = with(&other, |count| *count);
        with(&other, |count| assert_that(n <= *count));
        *count += n;
    });
    threads.join();
}

#[derive(Default)]
struct Tokens {
    x: [i32; 3],
    flags: [bool; 3],
}

fn token_ring() {
    let mut threads = Threads::of(Mutex::new(Tokens { x: [1, 2, 1], flags: [false; 3] }));
    threads.start(|m| with(m, |t| (t.x[0], t.flags[0]) = ((t.x[2] + 1) % 4, true)));
    threads.start(|m| with(m, |t| (t.x[1], t.flags[1]) = (t.x[0], true)));
    threads.start(|m| with(m, |t| (t.x[2], t.flags[2]) = (t.x[1], true)));
    threads.start(|m| with(m, |t| assert_that(t.flags != [true; 3] || t.x[0] == t.x[1] && t.x[1] == t.x[2])));
    threads.join();
}

struct Stages {
    d1: AtomicI64,
    d2: AtomicI64,
    l1: Mutex<()>,
    l2: Mutex<()>,
}

fn twostage(writers: usize, readers: usize) {
    // Both are atomics, because the second critical section reads data of the first lock.
    let (d1, d2) = (AtomicI64::new(0), AtomicI64::new(0));
    let mut threads = Threads::of(Stages { d1, d2, l1: Mutex::new(()), l2: Mutex::new(()) });
    for _ in 0..writers {
        threads.start(|s| {
            with(&s.l1, |()| s.d1.store(1, SeqCst));
            with(&s.l2, |()| s.d2.store(s.d1.load(SeqCst) + 1, SeqCst));
        });
    }
    for _ in 0..readers {
        threads.start(|s| {
            let t1 = with(&s.l1, |()| if s.d1.load(SeqCst) == 0 { 0 } else { s.d1.load(SeqCst) });
            if t1 != 0 {
                let t2 = with(&s.l2, |()| s.d2.load(SeqCst));
                assert_that(t2 == t1 + 1);
            }
        });
    }
    threads.join();
}

fn wronglock(others: usize) {
    let mut threads = Threads::of((AtomicI64::new(0), Mutex::new(()), Mutex::new(())));
    threads.start(|(value, data_lock, _)| {
        with(data_lock, |()| {
            let x = value.load(SeqCst);
            value.store(value.load(SeqCst) + 1, SeqCst);
            assert_that(value.load(SeqCst) == x + 1);
        });
    });
    for _ in 0..others {
        threads.start(|(value, _, thread_lock)| with(thread_lock, |()| value.store(value.load(SeqCst) + 1, SeqCst)));
    }
    threads.join();
}
