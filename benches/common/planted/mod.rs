//! Generates apps in the style of Android, each with exactly one planted order bug of a known depth.
//!
//! **Depth.** The depth of a bug is the least number d of ordering constraints (this operation comes before that one)
//! such that every run that satisfies them fails (Burckhardt et al., *A Randomized Scheduler with Probabilistic
//! Guarantees of Finding Bugs*, ASPLOS 2010). A generated app has the constraints `first_k < then_k` (k is 1
//! to d) of the kinds of [`OrderKind`], and fails if and only if a run satisfies all of them:
//!
//! - Each one is necessary. Only if all orders came about, the last one leaves the mark that the failing statement
//!   reads. With `-D FIXED=k` the k-th order is impossible, and then nothing fails.
//! - Together they are sufficient. No other order of the app and no answer decides whether it fails. (That an operation
//!   comes before another one includes that it is performed: that the environment fires what leads to it.)
//! - No smaller number of constraints suffices. By causality `then_i` comes before `first_j` for all i < j, since each
//!   order begins only after the one before it. One constraint `p < q` that implied both orders would need a p that is
//!   `first_j` or comes after it, and a q that is `then_i` or comes before it. Then q comes before p in every run.
//!
//! The *usual order* is that of round robin: threads take turns, and the clock moves and events fire only if no thread
//! can act. It satisfies none of the constraints. In each of them the side that has to come first does more steps
//! before, or waits for the clock or the environment.
//!
//! The kinds of orders, the ways to write them and their places in the app are drawn, and so is the harmless work
//! around them: timers, posts, locks, counters with harmless races, clicks, loopers that quit. A small app has the
//! same orders as a full one, with fewer components, fewer steps before the operations, and hardly any harmless work.
//!
//! The same depth, size and seed always give the same text. The numbers of `docs/results/planted.md` depend on it, so a
//! change of the generator means new numbers; a test pins some texts by their digests.

mod orders;
mod template;
mod work;
mod write;

pub(crate) use orders::OrderKind;

use raceflip::base::{Rng, mix};
use template::{Names, fill};
use write::written;

/// Size of an app.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Number of components.
    pub(crate) components: usize,
    /// Least and largest number of steps before the operation that usually comes second.
    slow: (u32, u32),
    /// Least and largest number of steps before the operation that usually comes first.
    quick: (u32, u32),
    /// Least and largest number of kinds of harmless work in each component.
    works: (u32, u32),
    /// Largest number of kinds of harmless work in the whole app.
    all_works: u32,
    /// Largest number of repetitions of harmless work.
    rounds: u32,
}

/// An app of ten components.
pub(crate) const FULL: Size =
    Size { components: 10, slow: (4, 8), quick: (0, 2), works: (2, 3), all_works: 30, rounds: 4 };

/// An app of so few components and so little harmless work that all its runs can be searched.
pub(crate) const fn small(components: usize) -> Size {
    Size {
        components,
        slow: (3, 4),
        quick: (0, 1),
        works: (0, 1),
        all_works: if components == 2 { 1 } else { 0 },
        rounds: 1,
    }
}

/// A generated app.
pub(crate) struct App {
    /// Text of the model.
    pub(crate) text: String,
    /// Kinds of the orders, from the first one of the chain on.
    pub(crate) orders: Vec<OrderKind>,
}

/// Names of components; each app draws its own among them.
const NAMES: [&str; 16] = [
    "Album", "Camera", "Chat", "Contacts", "Feed", "Inbox", "Login", "Lyrics", "Maps", "Notes", "Player", "Profile",
    "Radio", "Search", "Sync", "Weather",
];

/// What a component is to the platform.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    Activity,
    Service,
    Receiver,
    AsyncTask,
    /// Tasks that are posted to the main looper.
    Tasks,
    /// A thread of its own.
    Thread,
}

/// A component while the text is made.
struct Component {
    name: &'static str,
    host: Host,
    /// Items of the file that belong to it: variables, loopers, handlers, events, tasks.
    items: String,
    /// Tasks inside its braces.
    inside: String,
    /// Statements that begin its harmless work.
    works: Vec<String>,
    /// The number of an order that begins where the platform starts the component.
    order: Option<usize>,
}

/// Returns the app with a bug of this depth, for a seed. The depth is at least 1.
pub(crate) fn app(depth: usize, size: Size, seed: u64) -> App {
    let mut rng = Rng::seeded(mix(seed, (depth * 100 + size.components) as u64));
    let mut names = NAMES.to_vec();
    shuffle(&mut rng, &mut names);
    // The orders are in the components that come first here, in turn. The text sorts the components by name.
    let mut components: Vec<Component> =
        names.into_iter().take(size.components).map(|name| component(&mut rng, name)).collect();
    let entries = entries(&mut rng, &mut components, depth);
    let mut kinds = Vec::new();
    // The name of the mark that the order before has left.
    let mut mark = None;
    for k in 1..=depth {
        let c = &mut components[(k - 1) % size.components];
        let names = Names { component: c.name, number: Some(k), inside: c.order == Some(k) };
        let order = orders::draw(&mut rng);
        let parts = orders::Parts {
            slow: work::steps(&mut rng, size.slow),
            quick: work::steps(&mut rng, size.quick),
            mark,
            next: entries.get(k).cloned(),
        };
        let text = orders::text(&mut rng, order, &names, &parts);
        c.items += &text.items;
        if names.inside {
            c.inside += &text.tasks
        } else {
            c.items += &text.tasks
        }
        kinds.push(order.kind);
        mark = Some(fill("%old", &names, &[]));
    }
    let mut left = size.all_works;
    for c in &mut components {
        let count = (size.works.0 + rng.below(size.works.1 - size.works.0 + 1)).min(left);
        left -= count;
        for work in work::draw(&mut rng, count) {
            let names = Names { component: c.name, number: None, inside: false };
            let (begin, items) = work::text(&mut rng, work, &names, size.rounds);
            c.works.push(begin);
            c.items += &items;
        }
    }
    let mut begins: Vec<String> = components.iter().filter_map(Component::begin).collect();
    begins.push(entries[0].clone());
    shuffle(&mut rng, &mut begins);
    components.sort_by_key(|c| c.name);
    let text = written(&components, &kinds, &begins, seed);
    App { text, orders: kinds }
}

fn shuffle<T>(rng: &mut Rng, of: &mut [T]) {
    for i in (1..of.len()).rev() {
        of.swap(i, rng.below(i as u32 + 1) as usize);
    }
}

fn component(rng: &mut Rng, name: &'static str) -> Component {
    let host = rng.pick(&[Host::Activity, Host::Service, Host::Receiver, Host::AsyncTask, Host::Tasks, Host::Thread]);
    Component { name, host, items: String::new(), inside: String::new(), works: Vec::new(), order: None }
}

/// Decides what the components of the orders are to the platform, and returns the statements that begin the orders.
fn entries(rng: &mut Rng, components: &mut [Component], depth: usize) -> Vec<String> {
    let count = components.len();
    let entry = |k: usize| {
        let c = &mut components[(k - 1) % count];
        if k <= count {
            c.host = rng.pick(&[Host::Service, Host::Receiver, Host::Tasks, Host::Tasks]);
            c.order = (c.host != Host::Tasks).then_some(k);
        }
        if c.order == Some(k) {
            let verb = if c.host == Host::Service { "start" } else { "broadcast" };
            return format!("{verb} {}", c.name);
        }
        let names = Names { component: c.name, number: Some(k), inside: false };
        fill("post $begin() to main", &names, &[])
    };
    (1..=depth).map(entry).collect()
}
