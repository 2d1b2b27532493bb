//! Short programs, one for each mistake in static executes-before, whose claims are wrong if that mistake is made.

/// Names of the mistakes with their programs.
pub(crate) const DIRECTED: [(&str, &str); 9] = [
    (
        "delays",
        "var v = 0\nlooper main\ntask a() { @a: v = 1 }\ntask b() { @b: v = 2 }\n\
         thread t { post a() to main after 2; post b() to main }\n",
    ),
    (
        "loops",
        "var v = 0\nvar n = 2\nlooper main\ntask a() { @a: v = 1 }\ntask b() { @b: v = 2 }\n\
         thread t { let k = n; while k > 0 { k -= 1; post a() to main; post b() to main } }\n",
    ),
    (
        "nopre",
        "var v = 0\nvar n = 2\nlooper main\ntask a() { @a: v = 1; post b() to main }\ntask b() { @b: v = 2 }\n\
         thread t { let k = n; while k > 0 { k -= 1; post a() to main } }\n",
    ),
    (
        "cancels",
        "var v = 0\nlooper main\nthread w { @w: v = 1 }\ntask a() { join w }\ntask b() { @b: v = 2 }\n\
         thread t { post a() to main; post b() to main }\nthread u { cancel a on main }\n",
    ),
    (
        "one writer",
        "var v = 0\nvar g = false\nthread x { @x: v = 1; g = true }\nthread y { @y: v = 2; g = true }\n\
         thread z { await g; @z: v = 3 }\n",
    ),
    (
        "front",
        "var v = 0\nlooper main\ntask a() { @a: v = 1 }\ntask b() { @b: v = 2 }\n\
         thread x { post a() to main at front }\nthread y { post b() to main }\n",
    ),
    (
        "weak orders",
        "var v = 0\nlooper main\ntask a() { @a: v = 1 }\ntask b() { @b: v = 2 }\ntask c() { @c: v = 3 }\n\
         thread t { if * { post a() to main; post b() to main } else { post c() to main; post a() to main } }\n",
    ),
    (
        "quit safely",
        "var v = 0\nlooper main\ntask a() { quit main safely; quit main; @a: v = 1 }\ntask b() { @b: v = 2 }\n\
         thread t { post a() to main }\nthread u { post b() to main }\n",
    ),
    (
        "reads under locks",
        "var v = 0\nvar g = false\nlock m\nthread x { sync m { g = true; @x: v = 1 } }\n\
         thread y { await g; @y: v = 2 }\n",
    ),
];

/// Programs with a settled order of the accesses of `p` labelled `first` and `then`: no run has the other order, and
/// `first` still comes where the task that is about to perform `then` leaves. So the order must not refute the pair.
pub(crate) const SETTLED: [(&str, &str); 2] = [
    (
        "a guard that fails",
        "var p = 1\nvar v = 0\nlooper main\ntask user() { if p != 0 { @first: v = p } }\n\
         task cleaner() { @then: p = 0 }\nthread x { post user() to main }\nthread y { post cleaner() to main }\n",
    ),
    (
        "a task that quits its looper",
        "var p = 1\nlooper main\ntask a() { @first: p = 2 }\ntask c() { @then: p = 3; quit main }\n\
         thread x { post a() to main }\nthread y { post c() to main }\n",
    ),
];

/// Seeds of random programs that notice the mistakes, in the order of `static_rules::Mistake::ALL`. After a change of
/// the generator, the test that takes thousands of programs prints others.
pub(crate) const NOTICED: [u64; 9] = [230, 147, 907, 3301, 558, 36, 77, 351, 3];
