//! The ordering constraints of a planted bug: texts of the tasks and threads between which an order is open.
//!
//! In each text the operation `@first` has to come before `@then`, and usually comes after it. Where `@first` or
//! `@then` is a post, the constraint is about the posts; where it is the first statement of a task, about the begin of
//! the task. The variable `late` says that the order came about. The task `go_on` runs on the main looper after `@then`
//! in every run: it sets the mark `old` if this order and all orders before it came about, and begins the next one.

use super::template::{Names, fill, indented};
use raceflip::base::Rng;

/// Kind of an ordering constraint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum OrderKind {
    /// Two threads post to one looper; the posts are in the unusual order.
    Posts,
    /// A timer is due before a message is posted that would cancel it.
    Timer,
    /// A task begins before it is cancelled, or its looper quits before it begins.
    Cancel,
    /// An event is fired before a life-cycle callback, or a life-cycle callback comes before a result.
    Event,
    /// A message reads before a thread writes, or after a thread wrote too early.
    Write,
}

impl OrderKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 5] = [Self::Posts, Self::Timer, Self::Cancel, Self::Event, Self::Write];

    /// Returns the kind in one word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Posts => "posts",
            Self::Timer => "timer",
            Self::Cancel => "cancel",
            Self::Event => "event",
            Self::Write => "write",
        }
    }

    /// Returns the kind in words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Posts => "posts of two threads to one queue",
            Self::Timer => "timer against message",
            Self::Cancel => "cancel or quit against the begin of a task",
            Self::Event => "event against life-cycle callback",
            Self::Write => "message against write of a thread",
        }
    }
}

/// One way to write an order: items of the file, and tasks.
#[derive(Clone, Copy)]
pub(super) struct Order {
    pub(super) kind: OrderKind,
    items: &'static str,
    tasks: &'static str,
}

/// What an order gets from its neighbours in the chain.
pub(super) struct Parts {
    /// Statements before the operation that usually comes second.
    pub(super) slow: String,
    /// Statements before the operation that usually comes first.
    pub(super) quick: String,
    /// The mark of the order before; `None` for the first one.
    pub(super) mark: Option<String>,
    /// The statement that begins the next order; `None` for the last one.
    pub(super) next: Option<String>,
}

/// Text of an order.
pub(super) struct OrderText {
    pub(super) items: String,
    pub(super) tasks: String,
}

/// Draws a kind, and then one of the ways to write it.
pub(super) fn draw(rng: &mut Rng) -> Order {
    let kind = rng.pick(&OrderKind::ALL);
    let ways: Vec<Order> = ORDERS.into_iter().filter(|order| order.kind == kind).collect();
    rng.pick(&ways)
}

/// Returns the text of an order.
pub(super) fn text(rng: &mut Rng, order: Order, names: &Names, parts: &Parts) -> OrderText {
    let number = names.number.unwrap_or(0).to_string();
    let delay = rng.pick(&["10", "20", "30", "50", "100"]);
    let mark = match &parts.mark {
        Some(before) => format!("if %late && {before} {{ %old = true }}"),
        None => "if %late { %old = true }".to_owned(),
    };
    let next = match &parts.next {
        // The next order is open in every run, or only where the orders before it came about.
        Some(begin) if rng.coin() => begin.clone(),
        Some(begin) => format!("if %old {{ {begin} }}"),
        None => "#show".to_owned(),
    };
    let (items, shows, fails) = if parts.next.is_some() { ("", "", "") } else { rng.pick(&FAILURES) };
    let go_on = format!("task $go_on() {{\n    {mark}\n{}}}\n", indented(&next.replace("#show", shows)));
    let tasks = format!("{}{go_on}{fails}", order.tasks);
    let works = |sign: &str, steps: &str| order.tasks.contains(sign) && steps.contains("%work");
    let is_counted = works("#slow", &parts.slow) || works("#quick", &parts.quick);
    let work = if is_counted { "var %work = 0\n" } else { "" };
    let items = format!(
        "\n// Order {number}: {}.\n{work}{}var %late = false\nvar %old = false\n{items}",
        order.kind.text(),
        order.items
    );
    let texts: [(&str, &str); 5] =
        [("k", &number), ("delay", delay), ("slow", &parts.slow), ("quick", &parts.quick), ("name", names.component)];
    OrderText { items: fill(&items, names, &texts) + "\n", tasks: fill(&tasks, names, &texts) + "\n" }
}

/// The ways to fail: items, statements at the end of the chain, and tasks.
const FAILURES: [(&str, &str, &str); 3] = [
    ("", "post $show() to main", "task $show() { @planted: assert !%old, \"#name shows old data\" }\n"),
    ("", "if %old { post $show() to main }", "task $show() { @planted: fail \"#name shows old data\" }\n"),
    (
        "var %data: Object\n",
        "if !%old { %data = new Object }\npost $show() to main",
        "task $show() { @planted: use %data }\n",
    ),
];

const ORDERS: [Order; 9] = [
    Order {
        kind: OrderKind::Posts,
        items: "var %cached = false\nvar %parts = 0\n",
        tasks: "\
task $begin() {
    let quick = fork $read_cache()
    fork $read_net(quick)
}
task $read_cache() {
    #quick
    @then#k: post $show_cached() to main
}
task $read_net(quick: thread) {
    #slow
    if FIXED == #k { join quick }
    @first#k: post $show_fresh() to main
}
task $show_cached() {
    %cached = true
    $both()
}
task $show_fresh() {
    if !%cached { %late = true }
    $both()
}
task $both() {
    %parts += 1
    if %parts == 2 { $go_on() }
}
",
    },
    Order {
        kind: OrderKind::Timer,
        items: "",
        tasks: "\
task $begin() {
    if FIXED != #k { post $give_up() to main after #delay }
    fork $fetch()
}
task $fetch() {
    #quick
    @then#k: post $fetched() to main
}
task $give_up() { @first#k: %late = true }
task $fetched() {
    cancel $give_up on main
    $go_on()
}
",
    },
    Order {
        kind: OrderKind::Cancel,
        items: "handler %ui on main\n",
        tasks: "\
task $begin() {
    if FIXED != #k { post $refresh() to %ui after #delay }
    fork $close()
}
task $refresh() { @first#k: %late = true }
task $close() {
    #quick
    @then#k: cancel $refresh on %ui
    post $go_on() to main
}
",
    },
    Order {
        kind: OrderKind::Cancel,
        items: "looper %io\nvar %bytes = 0\n",
        tasks: "\
task $begin() {
    for i in 0..3 { post $index() to %io }
    if FIXED != #k { post $upload() to %io }
    fork $stop()
}
task $index() { %bytes += 1 }
task $upload() { @first#k: %late = true }
task $stop() {
    #quick
    @then#k: cancel $upload on %io
    post $stopped() to %io
}
task $stopped() { post $go_on() to main }
",
    },
    Order {
        kind: OrderKind::Cancel,
        items: "looper %disk\nvar %saved = false\n",
        tasks: "\
task $begin() {
    let writer = fork $write_back()
    fork $shut_down(writer)
}
task $write_back() {
    #quick
    @then#k: post $save() to %disk
}
task $save() { %saved = true }
task $shut_down(writer: thread) {
    #slow
    if FIXED == #k {
        join writer
        quit %disk safely
    } else {
        @first#k: quit %disk
    }
    join writer
    join %disk
    if !%saved { %late = true }
    post $go_on() to main
}
",
    },
    Order {
        kind: OrderKind::Event,
        items: "var %connected = false\nevent %click on main {\n    if !%connected { @first#k: %late = true }\n}\n",
        tasks: "\
task $begin() {
    if FIXED != #k { enable %click }
    fork $connect()
}
task $connect() {
    #quick
    @then#k: post $on_connected() to main
}
task $on_connected() {
    %connected = true
    if FIXED == #k { enable %click }
    $go_on()
}
",
    },
    Order {
        kind: OrderKind::Event,
        items: "\
var %loaded = false
activity #nameScreen#k on main {
    var rows = 0
    on create { rows = 1 }
    on pause {
        if FIXED != #k && !%loaded { @first#k: %late = true }
    }
}
",
        tasks: "\
task $begin() {
    start #nameScreen#k
    fork $load()
}
task $load() {
    #slow
    @then#k: post $on_loaded() to main
}
task $on_loaded() {
    %loaded = true
    $go_on()
}
",
    },
    Order {
        kind: OrderKind::Write,
        items: "var %size = 0\nvar %parts = 0\n",
        tasks: "\
task $begin() {
    let quick = fork $measure()
    fork $inflate(quick)
}
task $measure() {
    #quick
    @then#k: %size = 7
    post $both() to main
}
task $inflate(quick: thread) {
    #slow
    if FIXED == #k { join quick }
    post $layout() to main
}
task $layout() {
    @first#k: let known = %size
    if known == 0 { %late = true }
    $both()
}
task $both() {
    %parts += 1
    if %parts == 2 { $go_on() }
}
",
    },
    Order {
        kind: OrderKind::Write,
        items: "var %open = true\n",
        tasks: "\
task $begin() {
    if FIXED != #k { fork $close() }
    #quick
    @then#k: let is_open = %open
    if FIXED == #k { fork $close() }
    if !is_open { %late = true }
}
task $close() {
    #slow
    @first#k: %open = false
    post $go_on() to main
}
",
    },
];
