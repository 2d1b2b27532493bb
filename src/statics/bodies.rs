//! Orders of whole tasks, threads and firings: all that run one body are over when one of another body begins.

use super::Statics;
use super::bits::Bits;
use super::graph::{APP, ContextKind, Ctx, Graph};
use crate::base::Id;
use crate::event::BodyId;
use std::collections::BTreeMap;

/// The bodies that contexts run, in the order of their first contexts, with all of their contexts.
pub(super) type Bodies = Vec<(BodyId, Vec<Ctx>)>;

impl Statics {
    /// Returns the pairs of bodies whose tasks, threads and firings are in one order in every run: all of the first are
    /// over when one of the second begins. Sorted. Pairs of which no run has both are left out.
    #[must_use]
    pub fn bodies(&self) -> Vec<(BodyId, BodyId)> {
        pairs(&self.bodies, &self.earlier_bodies())
    }

    /// Returns the pairs of [`bodies`](Self::bodies) without those that follow from two others.
    #[must_use]
    pub fn nearest_bodies(&self) -> Vec<(BodyId, BodyId)> {
        let earlier = self.earlier_bodies();
        let nearest = earlier.iter().map(|firsts| {
            // Later ones mostly have more before them, and cover more.
            let (mut left, mut open) = (firsts.clone(), firsts.clone());
            while let Some(first) = open.last() {
                left = left.without(&earlier[first]);
                open = open.without(&earlier[first]);
                open.remove(first);
            }
            left
        });
        pairs(&self.bodies, &nearest.collect::<Vec<Bits>>())
    }

    /// Returns the contexts that run a body.
    pub(super) fn contexts_of(&self, body: BodyId) -> &[Ctx] {
        let place = self.places.get(&body).copied();
        place.and_then(|place| self.bodies.get(place)).map_or(&[], |(_, contexts)| contexts.as_slice())
    }

    // For each body the bodies that come before it, by their places in the list.
    fn earlier_bodies(&self) -> Vec<Bits> {
        let (graph, bodies) = (&self.known.graph, &self.bodies);
        let mut places = vec![None; graph.contexts.len()];
        for (place, (_, contexts)) in bodies.iter().enumerate() {
            contexts.iter().for_each(|ctx| places[ctx.index()] = Some(place));
        }
        let entry = |ctx: Ctx| graph.context(ctx).entry();
        let is_over = |first: Ctx, then: Ctx| self.known.at(entry(then)).over.has(first.index());
        let never_both = |first: Ctx, then: Ctx| self.known.excludes(entry(first), entry(then));
        let earlier = bodies.iter().enumerate().map(|(place, (_, thens))| {
            let mut some = Bits::default();
            for ctx in thens {
                let over = &self.known.at(entry(*ctx)).over;
                let meets = |bit: &usize| !never_both(Ctx(*bit as u32), *ctx);
                over.iter().filter(meets).filter_map(|bit| places[bit]).for_each(|first| some.add(first));
            }
            some.remove(place);
            // A job ends when all jobs that belong to it have ended, which its parts do not tell.
            let is_job = |ctx: &Ctx| graph.context(*ctx).kind == ContextKind::Job;
            let all = some.iter().filter(|first| !bodies[*first].1.iter().any(is_job)).filter(|first| {
                let firsts = &bodies[*first].1;
                let ordered = |a: &Ctx| thens.iter().all(|b| is_over(*a, *b) || never_both(*a, *b));
                (firsts.len() == 1 && thens.len() == 1) || firsts.iter().all(ordered)
            });
            all.collect()
        });
        earlier.collect()
    }
}

fn pairs(bodies: &Bodies, earlier: &[Bits]) -> Vec<(BodyId, BodyId)> {
    let of = |(firsts, (then, _)): (&Bits, &(BodyId, Vec<Ctx>))| -> Vec<(BodyId, BodyId)> {
        firsts.iter().map(|first| (bodies[first].0, *then)).collect()
    };
    let mut pairs: Vec<(BodyId, BodyId)> = earlier.iter().zip(bodies).flat_map(of).collect();
    pairs.sort_unstable();
    pairs
}

/// Returns the bodies of a graph.
pub(super) fn bodies_of(graph: &Graph) -> Bodies {
    let mut contexts: BTreeMap<BodyId, Vec<Ctx>> = BTreeMap::new();
    for ctx in graph.ids().filter(|ctx| *ctx != APP) {
        if let Some(body) = graph.context(ctx).body {
            contexts.entry(body).or_default().push(ctx);
        }
    }
    let mut bodies: Bodies = contexts.into_iter().collect();
    bodies.sort_by_key(|(_, contexts)| contexts.first().copied());
    bodies
}
