//! Groups what hurts by its cause, so that one cause is one finding. `docs/verdicts.md` gives the rules for readers.
//!
//! A lost update of three fields hurts in every pair of their accesses, and so does the order of the two critical
//! sections around them. To repair any of these is to repair all of them. Such effects have the same contexts, by what
//! these run, and fail in ways that one of them shows completely: that one is the *leader* of their group.
//!
//! The grouping knows nothing about kinds of findings. A kind takes part if it describes its findings as [`Effect`]s: a
//! pair has two sides, a cycle of locks has as many sides as threads. A violation of atomicity is wider than all of
//! them: it leads each effect between its transaction and what comes between ([`ViolationScope`]).

use crate::campaign::report::PairSide;
use crate::campaign::violation::ViolationScope;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Something that hurts, as far as its cause is concerned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    // invariant: sorted
    sides: Vec<PairSide>,
    failures: BTreeSet<String>,
    runs: u64,
}

impl Effect {
    /// Describes an effect: its statements with their contexts, the failures that it is to blame for (by
    /// [`same_failure`](super::same_failure)), and the number of runs that showed these.
    #[must_use]
    pub fn new(mut sides: Vec<PairSide>, failures: BTreeSet<String>, runs: u64) -> Self {
        sides.sort();
        Self { sides, failures, runs }
    }

    /// Returns whether a violation of atomicity explains the effect: one side runs in its transaction, another side in
    /// what comes between, and the violation shows all failures of the effect.
    #[must_use]
    pub fn is_of(&self, violation: &ViolationScope) -> bool {
        let ViolationScope { inside, outside, failures, .. } = violation;
        let mut sides = self.sides.iter().enumerate();
        let meets = sides.any(|(i, side)| {
            let mut others = self.sides.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| &other.context);
            inside.contains(&side.context) && others.any(|other| outside.contains(other))
        });
        meets && self.failures.is_subset(failures)
    }

    fn contexts(&self) -> Vec<&str> {
        self.sides.iter().map(|side| side.context.as_str()).collect()
    }

    // Returns the places of the statements in the text, in the order of the contexts.
    fn places(&self) -> Vec<(u32, u32)> {
        self.sides.iter().map(|side| (side.line, side.column)).collect()
    }

    // Key of effects from the earliest in the text to the latest. Different effects have different keys, because a
    // statement has one name.
    fn position(&self) -> Vec<(u32, u32, &str)> {
        let mut all: Vec<_> = self.sides.iter().map(|side| (side.line, side.column, side.site.as_str())).collect();
        all.sort_unstable();
        all
    }
}

/// Returns for each harmful violation of atomicity the position of the one that leads it: a violation that has all its
/// contexts and failures. A violation that leads itself has no other one that does, or is the first of several that
/// explain one another.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{ViolationScope, leading_violations};
///
/// let of = |failures: &[&'static str], outside| {
///     ViolationScope::new(failures.to_vec().into_iter(), 2, [("append", true), (outside, false)].into_iter())
/// };
/// let all = [of(&["lost"], "delete"), of(&["lost", "torn"], "delete"), of(&["lost"], "clear")];
/// assert_eq!(leading_violations(&all), [1, 1, 2]);
/// ```
#[must_use]
pub fn leading_violations(scopes: &[ViolationScope]) -> Vec<usize> {
    let is_wider = |i: usize, j: usize| scopes[i].explains(&scopes[j]) && (i < j || !scopes[j].explains(&scopes[i]));
    let is_led = |j: usize| (0..scopes.len()).any(|i| is_wider(i, j));
    let leads: Vec<usize> = (0..scopes.len()).filter(|i| !is_led(*i)).collect();
    let leader = |j: usize| leads.iter().copied().find(|i| scopes[*i].explains(&scopes[j]));
    (0..scopes.len()).map(|j| leader(j).unwrap_or(j)).collect()
}

/// Groups effects by their cause. A group is a list of positions in `effects`: the leader, and then the others in
/// ascending order. Each effect is in exactly one group. The groups come in the order of their leaders, and do not
/// depend on the order of `effects`.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{Effect, PairSide, groups};
///
/// let side = |context: &str, line| PairSide { context: context.into(), line, column: 1, site: format!("{line}:1") };
/// let effect = |a, b, runs| Effect::new(vec![side("a", a), side("b", b)], ["NullPointer".into()].into(), runs);
/// // The first pair comes first in both contexts.
/// assert_eq!(groups(&[effect(4, 9, 8), effect(3, 8, 2), effect(5, 8, 3)]), [vec![1, 0, 2]]);
/// // Neither pair does, so the one with more failing runs is the leader.
/// assert_eq!(groups(&[effect(3, 9, 8), effect(4, 8, 9)]), [vec![1, 0]]);
/// ```
#[must_use]
pub fn groups(effects: &[Effect]) -> Vec<Vec<usize>> {
    let mut by_contexts: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
    for (i, effect) in effects.iter().enumerate() {
        by_contexts.entry(effect.contexts()).or_default().push(i);
    }
    let mut groups = Vec::new();
    for mut rest in by_contexts.into_values() {
        // The most failures come first: an effect that shows all failures of others explains them.
        while let Some(most) = rest.iter().map(|i| &effects[*i].failures).min_by_key(|f| (Reverse(f.len()), *f)) {
            let (own, others): (Vec<usize>, Vec<usize>) =
                rest.iter().copied().partition(|i| effects[*i].failures.is_subset(most));
            let complete = own.iter().copied().filter(|i| effects[*i].failures == *most);
            let leader = leader(effects, complete.collect());
            let members = own.into_iter().filter(|i| *i != leader);
            groups.push(std::iter::once(leader).chain(members).collect::<Vec<usize>>());
            rest = others;
        }
    }
    groups.sort_unstable_by_key(|group| group[0]);
    groups
}

// Returns the leader of these effects, which have the same contexts and the same failures: one whose statements come
// first in all contexts, else one with the most failing runs; of several such effects the first one in the text.
fn leader(effects: &[Effect], of: Vec<usize>) -> usize {
    let earliest = of.iter().map(|i| effects[*i].places()).reduce(|mut earliest, places| {
        earliest.iter_mut().zip(places).for_each(|(first, place)| *first = place.min(*first));
        earliest
    });
    let widest: Vec<usize> = of.iter().copied().filter(|i| Some(effects[*i].places()) == earliest).collect();
    let candidates = if widest.is_empty() { of } else { widest };
    let first = candidates.into_iter().min_by_key(|i| (Reverse(effects[*i].runs), effects[*i].position()));
    first.expect("the set of failures is that of some effect")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn effect([a, b]: [(u8, u32); 2], failures: &[u8], runs: u64) -> Effect {
        let side = |(context, line): (u8, u32)| {
            let context = char::from(b'a' + context).to_string();
            PairSide { site: format!("{context}{line}"), context, line, column: 1 }
        };
        Effect::new(vec![side(a), side(b)], failures.iter().map(|f| format!("failure {f}")).collect(), runs)
    }

    fn effects() -> impl Strategy<Value = Vec<Effect>> {
        let side = || (0_u8..2, 1_u32..5);
        let one = (side(), side(), prop::collection::btree_set(0_u8..3, 1..3), 1_u64..4);
        prop::collection::vec(one, 0..12).prop_map(|all| {
            let mut known = BTreeSet::new();
            let effects = all
                .into_iter()
                .map(|(a, b, failures, runs)| effect([a, b], &failures.into_iter().collect::<Vec<u8>>(), runs));
            // As in a report, no two effects are about the same statements.
            effects.filter(|e| known.insert(format!("{:?}", e.sides))).collect()
        })
    }

    // The rules as `docs/verdicts.md` has them, about one effect at a time: whether `leader` can lead `other`.
    fn explains(leader: &Effect, other: &Effect) -> bool {
        leader.contexts() == other.contexts() && other.failures.iter().all(|f| leader.failures.contains(f))
    }

    // Whether in each context the statement of `one` comes no later in the text than that of `other`.
    fn encloses(one: &Effect, other: &Effect) -> bool {
        one.sides.iter().zip(&other.sides).all(|(a, b)| a.line < b.line || a.line == b.line && a.column <= b.column)
    }

    proptest! {
        #[test]
        fn each_effect_is_in_one_group_whose_leader_explains_it(effects in effects()) {
            let groups = groups(&effects);
            let mut all: Vec<usize> = groups.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..effects.len()).collect::<Vec<_>>());
            for group in &groups {
                let lead = &effects[group[0]];
                prop_assert!(group.iter().all(|i| explains(lead, &effects[*i])));
                let equals = || group.iter().map(|i| &effects[*i]).filter(|e| e.failures == lead.failures);
                // No member encloses the leader, unless the two are at the same places.
                if equals().any(|e| equals().all(|other| encloses(e, other))) {
                    prop_assert!(equals().all(|other| encloses(lead, other)));
                } else {
                    prop_assert!(equals().all(|other| other.runs <= lead.runs));
                }
            }
            // No leader explains another one: the groups are as few as the rule allows.
            for (i, one) in groups.iter().enumerate() {
                for other in groups.iter().skip(i + 1) {
                    let [one, other] = [one, other].map(|group| &effects[group[0]]);
                    prop_assert!(!explains(one, other) && !explains(other, one));
                }
            }
        }

        #[test]
        fn groups_do_not_depend_on_the_order((effects, shuffled) in effects().prop_flat_map(|all| {
            let order: Vec<usize> = (0..all.len()).collect();
            (Just(all), Just(order).prop_shuffle())
        })) {
            let in_order: Vec<Effect> = shuffled.iter().map(|i| effects[*i].clone()).collect();
            let named = |groups: Vec<Vec<usize>>, name: &dyn Fn(usize) -> usize| {
                let one = |g: Vec<usize>| (name(g[0]), g.into_iter().map(name).collect::<BTreeSet<_>>());
                groups.into_iter().map(one).collect::<BTreeSet<_>>()
            };
            prop_assert_eq!(named(groups(&effects), &|i| i), named(groups(&in_order), &|i| shuffled[i]));
        }
    }

    #[test]
    fn other_contexts_are_another_cause() {
        let all = [effect([(0, 1), (1, 9)], &[1], 5), effect([(0, 2), (2, 20)], &[1], 9)];
        assert_eq!(groups(&all), [vec![0], vec![1]]);
    }

    #[test]
    fn the_pair_with_all_failures_leads() {
        let all = [
            effect([(0, 1), (1, 9)], &[1], 99),
            effect([(0, 2), (1, 10)], &[1, 2], 1),
            effect([(0, 3), (1, 11)], &[2], 9),
            effect([(0, 4), (1, 12)], &[3], 9),
        ];
        assert_eq!(groups(&all), [vec![1, 0, 2], vec![3]]);
    }
}
