//! Generates models with deadlock rings, with rings that cannot close, and with none.

use raceflip::base::Rng;

/// Returns nested sections of three locks and both sides of a reader-writer lock.
fn section(rng: &mut Rng, depth: u32) -> String {
    const AROUND: [&str; 11] = [
        "sync l",
        "sync l",
        "sync l",
        "sync m",
        "sync m",
        "sync m",
        "sync n",
        "sync n",
        "read r",
        "write r",
        "sync m for 3",
    ];
    let mut text = String::from("skip");
    for _ in 0..depth {
        text = format!("{} {{ {text} }}", AROUND[rng.below(AROUND.len() as u32) as usize]);
    }
    text
}

/// Returns a model with threads that acquire locks in nested sections, some of them one after the other, some in tasks
/// and some behind a semaphore.
pub(crate) fn nested(number: u64) -> String {
    let mut rng = Rng::seeded(number);
    let mut text = String::from("lock l\nlock m\nlock n\nrwlock r\nsemaphore s = 0\nlooper main\n");
    text += &format!("task other() {{ {} }}\n", section(&mut rng, 2));
    let (threads, signalled) = (2 + u32::from(rng.below(4) > 0), rng.below(3) == 0);
    for thread in 0..threads {
        let body = section(&mut rng, 2);
        let body = match (thread, rng.below(5)) {
            (0, _) if signalled => format!("{body}; up s"),
            (1, _) if signalled => format!("down s; {body}"),
            (_, 0) => format!("{body}; {}", section(&mut rng, 1)),
            (_, 1) => format!("post other() to main; {body}"),
            (_, 2) => format!("let t = fork other(); {body}; join t"),
            _ => body,
        };
        text += &format!("thread t{thread} {{ {body} }}\n");
    }
    text
}

/// Returns a model with two or three threads that may close a ring, and with what may keep them from it: an order by a
/// semaphore, by a flag, by a join or by a post, a common outer lock, another order of the locks.
pub(crate) fn ring(number: u64) -> String {
    let mut rng = Rng::seeded(number);
    let n = 2 + rng.below(2) as usize;
    let mut text = String::from("lock l[3]\nlock g\nsemaphore s = 0\nvar done = false\natomic ready = 0\n");
    text += if rng.coin() { "rwlock r\n" } else { "rwlock r prefer writers\n" };
    text += "looper main\nlooper other\n";
    let mut bodies: Vec<String> = (0..n)
        .map(|i| {
            let (mut first, mut second) = (format!("sync l[{i}]"), format!("sync l[{}]", (i + 1) % n));
            if rng.chance(10) {
                (first, second) = (second, first);
            }
            // The readers of the first lock are kept out by its writers only.
            for side in [&mut first, &mut second] {
                if side.contains("l[0]") && number.is_multiple_of(4) {
                    *side = ["read r", "write r"][rng.below(2) as usize].to_owned();
                }
            }
            let within = ["skip", "skip", "sync g { skip }"][rng.below(3) as usize];
            format!("{first} {{ {within}; {second} {{ skip }} }}")
        })
        .collect();
    let (x, y) = (rng.below(n as u32) as usize, 1 + rng.below(n as u32 - 1) as usize);
    let y = (x + y) % n;
    match rng.below(11) {
        0 => bodies = vec![bodies.swap_remove(x) + "; up s", format!("down s; {}", bodies.swap_remove(0))],
        1 => {
            bodies[x] += "; up s";
            bodies[y] = format!("down s; {}", bodies[y]);
        }
        // Within the section of the first thread, a signal orders nothing that matters.
        2 => {
            bodies[x] = bodies[x].replacen("{ ", "{ up s; ", 1);
            bodies[y] = format!("down s; {}", bodies[y]);
        }
        3 => {
            bodies[x] += "; done = true";
            bodies[y] = format!("skip; if done {{ {} }}", bodies[y]);
        }
        4 => {
            bodies[x] += "; ready = 1";
            bodies[y] = format!("await ready == 1; {}", bodies[y]);
        }
        5 => [x, y].iter().for_each(|i| bodies[*i] = format!("sync g {{ {} }}", bodies[*i])),
        6 => {
            text += &format!("task made() {{ {} }}\n", bodies[y]);
            let make = ["join (fork made())", "fork made()"][rng.below(2) as usize];
            let place = rng.coin();
            bodies[x] = if place { format!("{make}; {}", bodies[x]) } else { format!("{}; {make}", bodies[x]) };
            bodies.remove(y);
        }
        7 => {
            text += &format!("task one() {{ {} }}\ntask two() {{ {} }}\n", bodies[x], bodies[y]);
            let looper = ["main", "other"][rng.below(2) as usize];
            bodies = vec!["post one() to main".to_owned(), format!("post two() to {looper}")];
        }
        // A writer that has announced itself keeps the second read out.
        8 => {
            bodies[x] = "read r { read r { skip } }".to_owned();
            bodies[y] = "sync g { write r { skip } }".to_owned();
        }
        // One thread has both orders, one after the other: alone it closes no ring.
        9 => bodies[x] = format!("{}; {}", bodies[x], bodies[y]),
        _ => {}
    }
    for (i, body) in bodies.iter().enumerate() {
        text += &format!("thread t{i} {{ {body} }}\n");
    }
    text
}
