//! Formats deadlock rings in words, from a report alone. All forms share these texts.

use super::words::{Example, access, fails, rate};
use super::{Replays, counted};
use crate::base::{at_most, clean};
use crate::campaign::{RingFacts, RunKind, SEARCHED, Verdict, best_way};
use crate::formats::campaign::{Access, ConfirmReport};
use crate::formats::ring::{JudgedRing, Part, Proof};

/// Formats the locks of a ring, each held by one thread and wanted by the one before: `lock a, lock b, lock c`.
pub(crate) fn locks(parts: &[Part]) -> String {
    clean(&parts.iter().map(|part| part.held.as_str()).collect::<Vec<_>>().join(", "))
}

/// Formats what a thread of a ring does: `t1 holds lock a (:12 acquire @first) and wants lock b (:13 acquire)`.
pub(crate) fn part(part: &Part) -> String {
    let from = |of: &Access| of.from.as_ref().map_or(String::new(), |f| format!(", {f}"));
    let Part { context, held, wanted, holds, wants } = part;
    let (at_held, at_wanted) = (access(holds) + &from(holds), access(wants) + &from(wants));
    clean(&format!("{context} holds {held} ({at_held}) and wants {wanted} ({at_wanted})"))
}

/// Formats the statements of a ring, with labels in place of lines where there are labels: `@a, @b ~ @c, @d`.
pub(super) fn name(ring: &JudgedRing) -> String {
    let side = |part: &Part| format!("{}, {}", part.holds.site, part.wants.site);
    clean(&ring.parts.iter().map(side).collect::<Vec<_>>().join(" ~ "))
}

/// Describes the proof of the verdict on a ring.
pub(super) fn proof(report: &ConfirmReport, ring: &JudgedRing) -> String {
    let states = report.searched.map_or(0, |s| s.states);
    match ring.proof {
        Proof::Closed => {
            let way = best_way(&ring.ways, false, |w| (&w.strategy, w.hits, w.trials));
            let searched = ring.deadlocks.iter().any(|f| f.again.strategy == SEARCHED);
            match way {
                Some(way) => format!("a deadlock in {}", rate(way)),
                None if searched => format!("a deadlock, by a search of all {}", counted(states, "state")),
                None => "a deadlock in the runs of detection".to_owned(),
            }
        }
        Proof::Refuted { states } => format!("no run ends in this deadlock, in all {}", counted(states, "state")),
        Proof::Unconfirmed => {
            let search = match ring.undecided_by_search.as_deref() {
                None => "no search was requested".to_owned(),
                Some("other-deadlock") => {
                    "a search found another deadlock at the same statements, and does not tell the two apart".to_owned()
                }
                Some(_) => format!("there are more than {states} states, so it is not refuted"),
            };
            match ring.trials {
                0 => format!("no trials; {search}"),
                n => format!("no deadlock in {} (p <= {:.2}); {search}", counted(n, "trial"), at_most(n)),
            }
        }
    }
}

/// Describes the deadlocks of a ring, with a run of each.
pub(super) fn examples<'r>(
    report: &ConfirmReport,
    ring: &'r JudgedRing,
    replays: &mut dyn Replays,
) -> Vec<Example<'r>> {
    ring.deadlocks.iter().map(|deadlock| fails(report, deadlock, RunKind::Continuation, replays)).collect()
}

/// Returns the statements of a ring.
pub(super) fn statements(ring: &JudgedRing) -> Vec<&Access> {
    ring.parts.iter().flat_map(|part| [&part.holds, &part.wants]).collect()
}

/// Counts the rings of a report by their verdicts: `2 rings: 1 harmful, 1 refuted`. Empty if there are none.
pub(super) fn counts(rings: &[JudgedRing]) -> Option<String> {
    let of = |verdict: Verdict| (rings.iter().filter(|ring| ring.verdict() == verdict).count(), verdict.word());
    let all = [Verdict::Harmful, Verdict::Refuted, Verdict::Unconfirmed].map(of);
    let some: Vec<String> = all.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    (!rings.is_empty()).then(|| format!("{}: {}", counted(rings.len() as u64, "deadlock ring"), some.join(", ")))
}
