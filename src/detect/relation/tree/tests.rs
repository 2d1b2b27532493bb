//! Tests of the clocks as trees: against clocks as rows, on generated operations.

use super::*;
use crate::base::Rng;

const CHAINS: u32 = 600;

// A clock, and the same knowledge as a vector.
type Pair = (TreeClock, Vec<u32>);

fn assert_equal(store: &ClockStore, (clock, plain): &Pair) {
    let all = (0..CHAINS).map(|chain| store.get(*clock, ChainId(chain)));
    assert!(all.eq(plain.iter().copied()));
}

fn covers(mine: &[u32], theirs: &[u32]) -> bool {
    mine.iter().zip(theirs).all(|(m, t)| m >= t)
}

// Chains below 40 have several owners, those from 320 on have one; the others have one for each block.
fn owner(chain: usize) -> u32 {
    match chain {
        0..40 => chain as u32 % 3,
        40..320 => (chain / WIDTH) as u32 % 3,
        _ => 2,
    }
}

fn share(thread: u32, level: u32, place: usize) -> Share {
    let width = WIDTH.pow(level + 1);
    let mine: Vec<bool> = (place * width..(place + 1) * width).map(|chain| owner(chain) == thread).collect();
    match level {
        _ if mine.iter().all(|mine| *mine) => Share::All,
        _ if mine.iter().all(|mine| !mine) => Share::None,
        0 => Share::Lanes((0..WIDTH).fold(0, |lanes, k| lanes | Lanes::from(mine[k]) << k)),
        _ => Share::Parts,
    }
}

#[test]
fn clocks_agree_with_plain_vectors_under_random_operations_and_collections() {
    let mut rng = Rng::seeded(5);
    let mut store = ClockStore::default();
    let mut clocks: Vec<Pair> = vec![(TreeClock::default(), vec![0; CHAINS as usize]); 12];
    let (mut collections, mut covered, mut shrunk) = (0, 0, 0);
    for _ in 0..30_000 {
        let (i, j) = (rng.below(12) as usize, rng.below(12) as usize);
        let (other, theirs) = clocks[j].clone();
        let (clock, plain) = &mut clocks[i];
        match rng.below(8) {
            0..3 => {
                // Small numbers of chains and large ones, so that trees have different levels.
                let most = [4, 16, 64, CHAINS][rng.below(4) as usize];
                let point = Point { chain: ChainId(rng.below(most)), epoch: 1 + rng.below(20) };
                *clock = store.learn(*clock, point);
                let known = &mut plain[point.chain.index()];
                *known = (*known).max(point.epoch);
            }
            3..5 => {
                let joined = store.join(*clock, other);
                if covers(plain, &theirs) && i != j {
                    assert!(joined == *clock || joined == other);
                }
                *clock = joined;
                plain.iter_mut().zip(theirs).for_each(|(m, t)| *m = (*m).max(t));
            }
            5 => {
                let thread = rng.below(3);
                let rest = store.without(*clock, thread, &|level, place| share(thread, level, place));
                shrunk += u32::from(rest.level() < clock.level());
                *clock = rest;
                (0..plain.len()).filter(|chain| owner(*chain) == thread).for_each(|chain| plain[chain] = 0);
            }
            6 => {
                assert_eq!(store.covers(*clock, other), covers(plain, &theirs));
                covered += u32::from(i != j && covers(plain, &theirs));
            }
            _ => {
                (*clock, *plain) =
                    if rng.below(4) == 0 { (TreeClock::default(), vec![0; 600]) } else { (other, theirs) }
            }
        }
        if store.is_full() {
            store.collect(&mut |each| clocks.iter_mut().for_each(|(clock, _)| each(clock)));
            clocks.iter().for_each(|pair| assert_equal(&store, pair));
            collections += 1;
        }
        assert_equal(&store, &clocks[i]);
    }
    assert!(collections > 20 && covered > 20 && shrunk > 5, "{collections} {covered} {shrunk}");
}

#[test]
fn a_clock_with_a_late_chain_has_no_nodes_for_the_chains_between() {
    let mut store = ClockStore::default();
    let before = store.len;
    let far = Point { chain: ChainId(u32::MAX), epoch: 3 };
    let clock = store.learn(TreeClock::default(), far);
    assert_eq!(store.len - before, clock.level() as usize + 1);
    assert!(store.has(clock, far) && store.get(clock, ChainId(0)) == 0 && store.get(clock, ChainId(u32::MAX - 1)) == 0);
    let near = store.learn(clock, Point { chain: ChainId(1), epoch: 2 });
    assert_eq!((store.get(near, ChainId(1)), store.get(near, far.chain)), (2, 3));
    assert!(store.covers(near, clock) && !store.covers(clock, near));
}

#[test]
fn a_collection_keeps_what_is_in_use_and_nothing_else() {
    let mut store = ClockStore::default();
    let mut clock = TreeClock::default();
    for epoch in 1..200 {
        clock = store.learn(clock, Point { chain: ChainId(epoch % 50), epoch });
    }
    let plain: Vec<u32> = (0..50).map(|chain| store.get(clock, ChainId(chain))).collect();
    let mut roots = [clock];
    store.collect(&mut |each| roots.iter_mut().for_each(&mut *each));
    // 13 blocks, in three trees of four and one that is a block by itself, and the root.
    assert_eq!(store.len, 1 + 13 + 3 + 1);
    assert_eq!((0..50).map(|chain| store.get(roots[0], ChainId(chain))).collect::<Vec<_>>(), plain);
}
