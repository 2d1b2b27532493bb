//! What is known of the futures of threads in short programs.

use crate::base::Id;
use crate::event::{LockId, ThreadId};
use crate::vm::Model;
use crate::world::{Act, Limits, LockHold, Machine, SharedFutures, Snapshot};

struct Known {
    machine: Machine<crate::vm::Vm>,
    futures: SharedFutures<crate::vm::Vm>,
}

fn known(text: &str) -> Known {
    let model = Model::from_text("futures.race", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut machine = model.machine(Limits::default());
    machine.start(false);
    let futures = machine.guest.futures(&machine.world).expect("a plain program");
    Known { machine, futures }
}

impl Known {
    /// Returns what a thread may do from its first place on, without its end, sorted.
    fn future(&self, thread: usize, kept: u64) -> Vec<String> {
        let thread = ThreadId::new(thread);
        let place = self.futures.place(&self.machine.guest, thread).expect("it stands somewhere");
        let all = self.futures.future(thread, place, kept);
        let mut names: Vec<String> = all
            .iter()
            .map(|number| match self.futures.acts()[number as usize] {
                Act::Touches(thing, manner) => format!("{manner:?} {}", thing.name(&self.machine.world)),
                other => format!("{other:?}"),
            })
            .collect();
        let of_end =
            [format!("Give thread {0}", self.name(thread)), format!("Other the queue of {0}", self.name(thread))];
        names.retain(|name| !of_end.contains(name));
        names.sort();
        names
    }

    fn name(&self, thread: ThreadId) -> String {
        self.machine.world.thread_name(thread)
    }
}

#[test]
fn elements_of_arrays_are_those_of_the_thread() {
    let of = known(
        "const N = 3\nvar a: int[N]\nlock l[N]\nsemaphore s = 0\n\
         thread t(i in 0..N) { let j = i + 1; if i == N - 1 { j = 0 }; sync l[i] { a[j] = 1 }; up s }",
    );
    assert_eq!(of.future(0, 0), ["Give lock l[0]", "Give semaphore s", "Take lock l[0]", "Write a[1]"]);
    assert_eq!(of.future(2, 0), ["Give lock l[2]", "Give semaphore s", "Take lock l[2]", "Write a[0]"]);
}

#[test]
fn an_index_that_is_not_known_is_any_in_bounds() {
    let of = known("var x = 0\nvar a: int[2]\nthread t { a[x] = 1 }\nthread u { for k in 0..2 { a[k] = k } }");
    assert_eq!(of.future(0, 0), ["Read x", "Write a[0]", "Write a[1]"]);
    assert_eq!(of.future(1, 0), ["Write a[0]", "Write a[1]"]);
}

#[test]
fn a_guard_ends_a_path() {
    let of = known("var x = 0\nvar y = 0\nlock l\nthread t { y = 1; if * { sync l { x = 1 } } }");
    let guard = of.futures.guard(LockHold::Lock(LockId::new(0)));
    assert_eq!(of.future(0, 0), ["Give lock l", "Take lock l", "Write x", "Write y"]);
    assert_eq!(of.future(0, guard), ["Write y"]);
}

#[test]
fn calls_handlers_and_callbacks_belong_to_the_future() {
    let of = known(
        "var x = 0\nvar y = 0\nvar z = 0\nlistener heard(i)\ntask write(i) { y = i; throw Oops }\ntask hear(i) { z = i }\n\
         thread t { try { write(1) } catch Oops { x = 1 } }\n\
         thread u { register hear to heard; perform heard(1) }\nthread v { skip }",
    );
    assert_eq!(of.future(0, 0), ["Write x", "Write y"]);
    assert_eq!(of.future(1, 0), ["Other listener heard", "Write z"]);
    assert!(of.future(2, 0).is_empty());
}

#[test]
fn the_future_of_a_looper_has_its_tasks_alone() {
    let of = known(
        "var x = 0\nvar y = 0\nlooper main\nlooper other\ntask f() { x = 1; post g() to other }\ntask g() { y = 1 }\n\
         thread t { post f() to main }",
    );
    assert_eq!(of.future(0, 0), ["Begin the queue of main", "Post the queue of other", "Write x"]);
    assert_eq!(of.future(1, 0), ["Begin the queue of other", "Write y"]);
    assert_eq!(of.future(2, 0), ["Post the queue of main"]);
}

#[test]
fn what_is_not_known_may_be_anything() {
    let of = known(
        "class Box { var v = 0 }\nlet o = new Box\nthread t { o.v = 1 }\nthread u { fork w() }\ntask w() { skip }",
    );
    assert_eq!((of.future(0, 0), of.future(1, 0)), (vec!["Anything".to_owned()], vec!["Anything".to_owned()]));
}

#[test]
fn only_locks_in_a_cycle_can_close_a_ring() {
    let text = |second: &str| {
        format!(
            "lock l\nlock m\nlock n\nthread t {{ sync l {{ sync m {{ sync n {{ skip }} }} }} }}\nthread u {{ {second} }}"
        )
    };
    let rings = |second| {
        let of = known(&text(second));
        (0..2).map(|thread| of.future(thread, 0).iter().filter(|name| name.starts_with("Ring")).count()).sum::<usize>()
    };
    assert_eq!(rings("sync l { sync m { skip } }"), 0);
    assert_eq!(rings("sync m { skip }; sync l { skip }"), 0);
    assert_eq!(rings("sync m { sync l { skip } }"), 2);
    assert_eq!(rings("acquire m; release m; acquire m; acquire l"), 2);
    // A second hold of a reentrant lock is given back first.
    assert_eq!(rings("acquire m; acquire m; release m; acquire l"), 2);
}
