//! Orders of whole tasks, threads and firings: all that run one body are over when one of another body begins.

use super::Statics;
use super::bits::Bits;
use super::graph::{APP, Ctx};
use crate::base::Id;
use crate::event::BodyId;
use std::collections::BTreeMap;

impl Statics {
    /// Returns the pairs of bodies whose tasks, threads and firings are in one order in every run: all of the first are
    /// over when one of the second begins. Sorted. Pairs of which no run has both are left out.
    #[must_use]
    pub fn bodies(&self) -> Vec<(BodyId, BodyId)> {
        pairs(&self.earlier_bodies())
    }

    /// Returns the pairs of [`bodies`](Self::bodies) without those that follow from two others.
    #[must_use]
    pub fn nearest_bodies(&self) -> Vec<(BodyId, BodyId)> {
        let earlier = self.earlier_bodies();
        let nearest = earlier.iter().map(|(then, firsts)| {
            // Those with the most before them cover the most.
            let mut by_size: Vec<(usize, usize)> =
                firsts.iter().map(|first| (earlier.get(&first).map_or(0, |row| row.iter().count()), first)).collect();
            by_size.sort_unstable_by(|a, b| b.cmp(a));
            let mut left = firsts.clone();
            for (_, first) in by_size {
                if left.has(first)
                    && let Some(covered) = earlier.get(&first)
                {
                    left = left.without(covered);
                }
            }
            (*then, left)
        });
        pairs(&nearest.collect())
    }

    // For each body the bodies that come before it.
    fn earlier_bodies(&self) -> BTreeMap<usize, Bits> {
        let graph = &self.known.graph;
        let mut contexts: BTreeMap<usize, Vec<Ctx>> = BTreeMap::new();
        for ctx in graph.ids().filter(|ctx| *ctx != APP) {
            if let Some(body) = graph.context(ctx).body {
                contexts.entry(body.index()).or_default().push(ctx);
            }
        }
        let is_over = |first: Ctx, then: Ctx| self.known.at(graph.context(then).entry()).over.has(first.index());
        let never_both =
            |first: Ctx, then: Ctx| self.known.excludes(graph.context(first).entry(), graph.context(then).entry());
        let earlier = contexts.iter().map(|(then, thens)| {
            let mut some = Bits::default();
            for ctx in thens {
                let over = &self.known.at(graph.context(*ctx).entry()).over;
                over.iter().filter_map(|bit| graph.contexts[bit].body).for_each(|body| some.add(body.index()));
            }
            some.remove(*then);
            let all = some.iter().filter(|first| {
                let firsts = contexts.get(first).map_or(&[][..], Vec::as_slice);
                let ordered = |a: &Ctx| thens.iter().all(|b| is_over(*a, *b) || never_both(*a, *b));
                (firsts.len() == 1 && thens.len() == 1) || firsts.iter().all(ordered)
            });
            (*then, all.collect())
        });
        earlier.collect()
    }
}

fn pairs(earlier: &BTreeMap<usize, Bits>) -> Vec<(BodyId, BodyId)> {
    let of = |(then, firsts): (&usize, &Bits)| -> Vec<(BodyId, BodyId)> {
        firsts.iter().map(|first| (BodyId::new(first), BodyId::new(*then))).collect()
    };
    let mut pairs: Vec<(BodyId, BodyId)> = earlier.iter().flat_map(of).collect();
    pairs.sort_unstable();
    pairs
}
