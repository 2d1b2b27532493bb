//! Accesses of memory in rows, with what they do to references.

use super::{Actions, Reason, Rows, field_of, need};
use crate::formats::trace::Row;
use crate::formats::traces::grammar::short;
use crate::trace::{Action, LocationNo, Mark, OpNo, SiteNo, ThreadNo};
use std::collections::BTreeMap;

/// The tested reads so far, by their steps.
pub(super) type TestedReads = BTreeMap<u64, (LocationNo, OpNo)>;

impl Rows {
    /// Performs the operations of a row, in this order. `site` is the statement of its accesses; of all operations if
    /// there is no access among them.
    pub(super) fn perform(
        &mut self,
        row: &Row,
        (thread, line): (ThreadNo, u32),
        actions: Actions,
        site: SiteNo,
    ) -> Result<(), Reason> {
        // Of several accesses, the last one is the row's own, and the others are of the life of its object.
        let own = actions.iter().rposition(|action| action.access().is_some());
        for (i, action) in actions.into_iter().enumerate() {
            let Some(access) = action.access() else {
                self.builder.push(thread, action, if own.is_none() { site } else { SiteNo::NONE }, line)?;
                continue;
            };
            let uses = Mark { uses: true, ..Mark::default() };
            let mark = if Some(i) == own { self.mark(row, thread, access)? } else { uses };
            self.builder.push_marked(thread, action, mark, site, line)?;
            self.value(row, action);
        }
        Ok(())
    }

    // Returns the mark of the row's own access, which is performed next.
    fn mark(&mut self, row: &Row, thread: ThreadNo, (at, writes): (LocationNo, bool)) -> Result<Mark, Reason> {
        if writes {
            return Ok(Mark { frees: row.frees || row.kind == "free", ..Mark::default() });
        }
        if row.tested {
            self.tested.insert(row.step, (at, self.builder.next(thread)));
        }
        let known = |step| self.tested.get(&step).filter(|(of, _)| *of == at).map(|(_, guard)| *guard);
        let guard = row.guard.map(|step| known(step).ok_or(Reason::NoGuard(step))).transpose()?;
        Ok(Mark { uses: row.uses || row.kind == "use", tested: row.tested, guard, frees: false })
    }

    // In a run, an access to a field of an object also reads the life of the object, which a free writes.
    pub(super) fn life(&mut self, row: &Row) -> Result<Option<Action>, Reason> {
        let place = need(&row.place, "place")?;
        let start = place.rfind('/').map_or(0, |at| at + 1);
        let object =
            place[start..].find('.').map(|dot| &place[..start + dot]).filter(|object| object[start..].contains('#'));
        Ok(object.filter(|_| self.of_run).map(|object| Action::Read(self.builder.location(object, "life"))))
    }

    // An operation on an atomic that is accessed plainly elsewhere. A lock of the atomic's own keeps two operations
    // apart, but not a plain access (`detect::record` does the same).
    pub(super) fn atomic(&mut self, row: &Row) -> Result<Actions, Reason> {
        let lock = self.builder.lock(need(&row.place, "place")?);
        let (life, at) = (self.life(row)?, self.location(row)?);
        let access = match row.access.as_deref() {
            Some("write") => Action::Write(at),
            None | Some("read") => Action::Read(at),
            Some(other) => {
                let wrong = format!("`{}` is neither `read` nor `write`", short(other));
                return Err(Reason::NoWord("access", wrong));
            }
        };
        Ok([Action::Acquire(lock)].into_iter().chain(life).chain([access, Action::Release(lock)]).collect())
    }

    pub(super) fn location(&mut self, row: &Row) -> Result<LocationNo, Reason> {
        let place = need(&row.place, "place")?;
        let is_life = self.of_run && matches!(row.kind.as_str(), "use" | "free");
        let of = if is_life { "life".to_owned() } else { field_of(place) };
        Ok(self.builder.location(place, row.field.as_deref().unwrap_or(&of)))
    }
}
