//! Computes the signature of an outcome: a text that is equal for two runs that fail in the same way, whatever the
//! schedule and the line numbers.

use super::Setup;
use crate::event::{Failure, FailureKind, Outcome, SiteId};

/// Returns the signature of an outcome: `ok`, `failure NullPointer onClick:2`, `deadlock a, b`. It does not depend on
/// the schedule or on line numbers.
#[must_use]
pub fn signature(setup: &Setup, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok => "ok".to_owned(),
        Outcome::Stuck { .. } => "stuck".to_owned(),
        Outcome::Failure(failure) => failure_signature(setup, failure),
        Outcome::Deadlock(report) => {
            let names = if report.cycle.is_empty() {
                report.blocked.iter().map(|b| b.thread.clone()).collect()
            } else {
                report.cycle.clone()
            };
            // A cycle may be found from any of its threads.
            let mut names: Vec<String> = names;
            names.sort();
            format!("deadlock {}", names.join(", "))
        }
        Outcome::Limit(kind, _) => format!("limit {}", kind.option()),
    }
}

/// Returns whether two signatures are equal apart from the ordinal of the site in its body. An edit of that body
/// changes the ordinal.
///
/// # Examples
///
/// ```
/// use raceflip::world::alike;
///
/// assert!(alike("failure NullPointer onMenu:3", "failure NullPointer onMenu:4"));
/// assert!(!alike("failure NullPointer onMenu:3", "failure NullPointer onStart:3"));
/// ```
#[must_use]
pub fn alike(a: &str, b: &str) -> bool {
    fn without(signature: &str) -> &str {
        let cut = signature.trim_end_matches(|c: char| c.is_ascii_digit());
        cut.strip_suffix(':').filter(|_| cut.len() < signature.len()).unwrap_or(signature)
    }
    without(a) == without(b)
}

fn failure_signature(setup: &Setup, failure: &Failure) -> String {
    let place = failure.site.map_or(String::new(), |s| format!(" {}", place(setup, s)));
    match failure.kind {
        FailureKind::Property => format!("failure property {}", failure.name),
        FailureKind::Exception => format!("failure {}{place}", failure.name),
        FailureKind::Rejection => format!("failure rejection {}{place}", failure.name),
        FailureKind::Assert | FailureKind::Fail => format!("failure {:?}{place}", failure.message),
    }
}

// Returns a site as its body and its ordinal there. An edit of another body does not change them, but it changes lines.
fn place(setup: &Setup, site: SiteId) -> String {
    let s = &setup.sites[site];
    format!("{}:{}", setup.bodies[s.body], s.ordinal)
}

#[cfg(test)]
mod tests {
    use super::alike;

    #[test]
    fn alike_but_for_the_number_of_the_site() {
        assert!(alike("failure X t:1", "failure X t:12"));
        assert!(alike("ok", "ok"));
        assert!(!alike("failure X t:1", "failure X u:1"));
        assert!(!alike("failure X t:1", "failure Y t:1"));
        assert!(!alike("failure \"a 1\"", "failure \"a 2\""));
        assert!(!alike("deadlock w1, w2", "deadlock w1, w3"));
    }
}
