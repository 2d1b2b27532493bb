//! Locks that can close a ring: in some thread one is needed while another one is held, and so back.
//!
//! A ring ends the run as soon as it closes, and several threads close it together: no step of one of them is to blame.
//! So the steps that leave their threads at such locks depend on each other.

use super::ActTable;
use super::graph::{Locking, ThreadGraph};
use crate::world::Act;

/// Marks the places at which a thread may close a ring.
pub(super) fn mark_rings(threads: &mut [ThreadGraph], table: &mut ActTable<'_>) {
    let locks = table.world.setup().locks.len();
    let reentrant = |lock: usize| table.world.setup().locks.get(lock).is_some_and(|(_, reentrant)| *reentrant);
    // Number `locks` stands for the monitors of all objects, and for a lock that is not known.
    let mut later = vec![vec![false; locks + 1]; locks + 1];
    for thread in threads.iter() {
        for (at, place) in thread.places.iter().enumerate() {
            let (Locking::Needs(held) | Locking::Tries(held)) = &place.locking else { continue };
            for lock in held.iter().copied() {
                let given_back = Some(lock).filter(|_| held.len() == 1);
                let mut needed = needed_from(thread, at, given_back, locks);
                // A second hold of a reentrant lock is given back first.
                if needed[lock] && reentrant(lock) {
                    needed = needed_from(thread, at, None, locks);
                }
                later[lock].iter_mut().zip(needed).for_each(|(later, needed)| *later |= needed);
            }
        }
    }
    for middle in 0..=locks {
        for from in 0..=locks {
            if later[from][middle] {
                let leads = later[middle].clone();
                later[from].iter_mut().zip(leads).for_each(|(later, leads)| *later |= leads);
            }
        }
    }
    // All monitors share a number, so that two of them can close a ring.
    let alone = |lock: usize| !(0..=locks).any(|other| other != lock && later[lock][other] && later[other][lock]);
    let group = |lock: usize| match alone(lock) && !(lock == locks && later[lock][lock]) {
        true => None,
        false => (0..=locks).find(|other| *other == lock || later[lock][*other] && later[*other][lock]),
    };
    let groups: Vec<Option<usize>> = (0..=locks).map(group).collect();
    for thread in threads {
        for place in &mut thread.places {
            let Locking::Needs(needed) = &place.locking else { continue };
            for group in needed.iter().filter_map(|lock| groups[*lock]) {
                place.arrival.insert(table.number(Act::Ring(group as u32)));
            }
        }
    }
}

// Returns the locks that may be needed after a place, before `given_back` is given back.
fn needed_from(thread: &ThreadGraph, at: usize, given_back: Option<usize>, locks: usize) -> Vec<bool> {
    let mut needed = vec![false; locks + 1];
    let mut seen = vec![false; thread.places.len()];
    let mut open: Vec<u32> = thread.places[at].all_next().collect();
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut seen[at as usize], true) {
            continue;
        }
        let place = &thread.places[at as usize];
        match &place.locking {
            Locking::GivesBack(lock) if given_back == Some(*lock) => continue,
            Locking::Needs(locks_here) => {
                locks_here.iter().for_each(|lock| needed[*lock] = true);
            }
            _ => {}
        }
        open.extend(place.all_next());
    }
    needed
}
