//! Facts about verbs that are known when all bodies are compiled: which steps of verbs are needless, and which thread
//! makes the instances of a component.

use super::super::code::BodyCode;
use super::super::instr::{Instr, PlatformInstr, Visible};
use crate::base::{Id, IndexVec};
use crate::event::{BodyId, ComponentId, ThreadId};
use crate::world::PlatformSetup;
use std::collections::BTreeSet;

/// Replaces the step of a verb by a jump where the body of the verb performs another step before it can use platform
/// memory.
pub(super) fn without_needless_requests(instrs: &mut [Instr], bodies: &IndexVec<BodyId, BodyCode>) {
    for at in 0..instrs.len().saturating_sub(1) {
        let is_request = matches!(instrs[at], Instr::Visible { op: Visible::Request, .. });
        if let (true, Instr::Call { body, .. }) = (is_request, instrs[at + 1])
            && !uses_platform_first(instrs, bodies, body, &mut BTreeSet::new())
        {
            instrs[at] = Instr::Jump(at as u32 + 1);
        }
    }
}

// Whether a body may use platform memory before its first step. A call counts as a call that may have no step.
fn uses_platform_first(
    instrs: &[Instr],
    bodies: &IndexVec<BodyId, BodyCode>,
    body: BodyId,
    callers: &mut BTreeSet<BodyId>,
) -> bool {
    if !callers.insert(body) {
        return false;
    }
    let mut seen = BTreeSet::new();
    let mut open = vec![bodies[body].entry as usize];
    while let Some(at) = open.pop() {
        if !seen.insert(at) {
            continue;
        }
        match instrs[at] {
            Instr::Platform { what, .. } if what.uses() => return true,
            Instr::Visible { .. }
            | Instr::Return(_)
            | Instr::Fail { .. }
            | Instr::Throw { .. }
            | Instr::Rethrow(_)
            | Instr::PassOn(_) => {}
            Instr::Call { body, .. } if uses_platform_first(instrs, bodies, body, callers) => return true,
            Instr::Jump(to) => open.push(to as usize),
            Instr::JumpIf { to, .. } | Instr::JumpUnless { to, .. } | Instr::ForNext { body: to, .. } => {
                open.extend([at + 1, to as usize]);
            }
            _ => open.push(at + 1),
        }
    }
    false
}

/// Notes for each component the declared thread that makes its instances, if only one does.
pub(super) fn name_makers(
    platform: &mut PlatformSetup,
    instrs: &[Instr],
    bodies: &IndexVec<BodyId, BodyCode>,
    starts: &[(BodyId, Option<i64>)],
) {
    let mut makers: IndexVec<ComponentId, Vec<ThreadId>> = platform.components.iter().map(|_| Vec::new()).collect();
    for (thread, (body, _)) in starts.iter().enumerate() {
        for component in made_by(instrs, bodies, *body, platform) {
            makers[component].push(ThreadId::new(thread));
        }
    }
    for (component, makers) in platform.components.iter_mut().zip(makers.iter()) {
        component.maker = if let [thread] = makers[..] { Some(thread) } else { None };
    }
}

// The components of which a body may make instances, itself or in its calls.
fn made_by(
    instrs: &[Instr],
    bodies: &IndexVec<BodyId, BodyCode>,
    body: BodyId,
    platform: &PlatformSetup,
) -> BTreeSet<ComponentId> {
    let mut made = BTreeSet::new();
    let (mut seen, mut open) = (BTreeSet::new(), vec![body]);
    while let Some(body) = open.pop() {
        if !seen.insert(body) {
            continue;
        }
        let entry = bodies[body].entry;
        let end = bodies.iter().map(|b| b.entry).filter(|e| *e > entry).min().unwrap_or(instrs.len() as u32);
        for instr in &instrs[entry as usize..end as usize] {
            match *instr {
                Instr::Call { body, .. } => open.push(body),
                Instr::Platform { what: PlatformInstr::Make { component, .. }, .. } => _ = made.insert(component),
                // Its component is known only when it runs.
                Instr::Platform { what: PlatformInstr::Again(_), .. } => made.extend(platform.components.ids()),
                _ => {}
            }
        }
    }
    made
}
