//! Says why a search has not decided a pair.

use crate::base::counted;
use crate::formats::campaign::SearchExtent;

/// Describes the reason with this word (`undecided_by_search`) in a sentence. `searched` is the search of all states.
pub(super) fn undecided(word: Option<&str>, searched: Option<SearchExtent>) -> String {
    let states = searched.map_or(0, |s| s.states);
    let all = counted(states, "state");
    let cut_off = |open: &str| {
        format!(
            "in all {all} one order never occurs, but a run that ended after the other access may have cut it off: {open}"
        )
    };
    match word {
        None => "no search was requested".to_owned(),
        // A word of older versions.
        Some("both-orders") => format!("in all {all} both orders occur, but never for the same two accesses"),
        Some("cut-off") => cut_off("a proof that it has not takes too many states (--explore-limit)"),
        Some("units") => {
            cut_off("that depends on whether the semaphore that was taken before it is a lock or a signal")
        }
        Some("limit") => format!("a search of all {all} has found it, and the run that shows it reaches a limit"),
        Some("instances") => format!(
            "all {all} were searched, but the single executions of both statements are too many to compare (a loop \
             without end?), so it is not refuted (--explore-limit)"
        ),
        Some(_) if searched.is_some_and(|s| s.complete) => {
            "the search for its orders has too many states, so it is not refuted".to_owned()
        }
        Some(_) => format!("there are more than {states} states, so it is not refuted"),
    }
}
