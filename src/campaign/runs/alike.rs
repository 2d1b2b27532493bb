//! Decides when two failures are the same.
//!
//! - Forked threads and tasks are identified by what they run, and not by their ordinal.
//! - Two threads of one array (`thread t(i in 0..2)`) exchange their names where they exchange their roles. If `t[1]`
//!   waits forever with `t[0]` first, and `t[0]` waits forever with `t[1]` first, then the second thread waits forever
//!   in either order: that is one failure.
//! - Findings are grouped by [`same_failure`], which does not distinguish the threads of an array.

/// Returns the common name of a class of failures: the signature without the indices of array threads and without the
/// ordinals of forked threads and tasks. Messages are left as they are.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::same_failure;
///
/// assert_eq!(same_failure("deadlock t[0], t[1]/f#2"), "deadlock t, t/f");
/// assert_eq!(same_failure("deadlock t[1], t[3]/f#1"), "deadlock t, t/f");
/// assert_eq!(same_failure("failure \"no t[0]\" t:1"), "failure \"no t[0]\" t:1");
/// ```
#[must_use]
pub fn same_failure(signature: &str) -> String {
    renamed(signature, |root| root.split_once('[').map_or(root, |(array, _)| array).to_owned())
}

/// Returns what a thread or task runs, from its pedigree: the last part, without ordinals and indices. Threads of one
/// array run the same, and so do all tasks of one body.
pub(in crate::campaign) fn role(pedigree: &str) -> String {
    let own = pedigree.rsplit('/').next().unwrap_or(pedigree);
    let mut rest = own.split_once('[').map_or(own, |(array, _)| array);
    let mut role = String::new();
    // A firing of a component has an ordinal for the instance, too: `Player#1.hide#2`.
    while let Some((kind, after)) = rest.split_once('#') {
        role.push_str(kind);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    role + rest
}

/// Returns the name of a failure: its signature without the ordinals of forked threads and tasks. Threads of an array
/// keep their indices.
pub(crate) fn key(signature: &str) -> String {
    renamed(signature, str::to_owned)
}

/// Returns the [`key`] of the failure after these two threads or tasks have exchanged their roles. It is the plain key
/// unless they are two threads of one array, or made by such threads.
pub(in crate::campaign) fn swapped(signature: &str, [a, b]: &[String; 2]) -> String {
    let (a, b) = (root(a), root(b));
    if !of_one_array(a, b) {
        return key(signature);
    }
    renamed(signature, |root| {
        if root == a {
            b
        } else if root == b {
            a
        } else {
            root
        }
        .to_owned()
    })
}

/// Returns whether the two are different threads of one array, or threads or tasks made by such.
pub(in crate::campaign) fn are_twins([a, b]: &[String; 2]) -> bool {
    of_one_array(root(a), root(b))
}

fn of_one_array(a: &str, b: &str) -> bool {
    let array = |name: &'_ str| name.split_once('[').map(|(array, _)| array.to_owned());
    a != b && array(a).is_some() && array(a) == array(b)
}

// Returns the root of a pedigree: the thread that starts with the program.
fn root(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

// Renames the threads in a signature. Only signatures of deadlocks contain thread names.
fn renamed(signature: &str, rename: impl Fn(&str) -> String) -> String {
    let Some(names) = signature.strip_prefix("deadlock ") else { return signature.to_owned() };
    let one = |name: &str| {
        let mut parts = name.split('/');
        let head = rename(parts.next().unwrap_or(name));
        let kind = |part: &str| part.split_once('#').map_or(part, |(kind, _)| kind).to_owned();
        std::iter::once(head).chain(parts.map(kind)).collect::<Vec<_>>().join("/")
    };
    let mut names: Vec<String> = names.split(", ").map(one).collect();
    names.sort();
    format!("deadlock {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(a: &str, b: &str) -> [String; 2] {
        [a.to_owned(), b.to_owned()]
    }

    #[test]
    fn threads_of_one_array_change_their_names() {
        let both = roles("t[0]", "t[1]");
        assert_eq!(swapped("deadlock t[0]", &both), "deadlock t[1]");
        assert_eq!(swapped("deadlock t[0], t[1]", &both), "deadlock t[0], t[1]");
        assert_eq!(swapped("deadlock t[0], t[2]", &both), "deadlock t[1], t[2]");
        assert_eq!(swapped("deadlock t[0]/f#1", &roles("t[0]/f#1", "t[1]/f#1")), "deadlock t[1]/f");
        assert_eq!(swapped("failure \"t[0]\" t:1", &both), "failure \"t[0]\" t:1");
    }

    #[test]
    fn others_keep_them() {
        for both in [roles("t[0]", "u[0]"), roles("a", "b"), roles("t[0]", "a"), roles("t[0]", "t[0]/f#1")] {
            assert!(!are_twins(&both), "{both:?}");
            assert_eq!(swapped("deadlock t[0], a", &both), "deadlock a, t[0]");
        }
    }

    #[test]
    fn contexts_are_told_by_what_they_run() {
        let check = |pedigree: &str, expected: &str| assert_eq!(role(pedigree), expected);
        check("main", "main");
        check("t[12]", "t");
        check("back#1", "back");
        check("main/onCreate#1/load#12", "load");
        check("a/Player#1.hide#2", "Player.hide");
        check("", "");
    }

    #[test]
    fn forked_threads_are_told_by_what_they_run() {
        assert_eq!(key("deadlock main/f#2, main/g#1"), "deadlock main/f, main/g");
        assert_eq!(key("deadlock main/f#1, main/f#2"), "deadlock main/f, main/f");
    }
}
