//! Adds what stands beside the operations of a trace, for the analysis of atomicity.

use super::Builder;
use crate::base::Id;
use crate::trace::{
    Action, AtomicAccess, ChannelNo, InstanceNo, OpNo, SiteNo, TaskNo, ThreadNo, TraceError, TransactionMark,
};

impl Builder {
    /// Returns the instance of this name, a new one if the name is new.
    pub fn instance(&mut self, name: &str) -> InstanceNo {
        self.trace.instances.add(name)
    }

    /// Declares that a task belongs to an instance, unless it belongs to one already.
    pub fn belongs(&mut self, task: TaskNo, instance: InstanceNo) {
        self.trace.tasks[task].instance.get_or_insert(instance);
    }

    /// Marks the begin or the end of a transaction of a thread. This is not an operation.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread has ended.
    pub fn transaction(
        &mut self,
        thread: ThreadNo,
        begins: bool,
        name: Option<&str>,
        site: SiteNo,
    ) -> Result<(), TraceError> {
        self.check(thread, Action::ThreadExit)?;
        let (before, unit) = (self.trace.ops.next_id(), false);
        self.trace.transactions.push(TransactionMark {
            before,
            thread,
            site,
            begins,
            unit,
            name: name.map(Into::into),
        });
        Ok(())
    }

    /// Marks the begin or the end of a part of a unit: of a callback of a component. This is not an operation.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread has ended.
    pub fn part_of_unit(&mut self, thread: ThreadNo, begins: bool, unit: &str) -> Result<(), TraceError> {
        self.transaction(thread, begins, Some(unit), SiteNo::NONE)?;
        self.trace.transactions.last_mut().into_iter().for_each(|mark| mark.unit = true);
        Ok(())
    }

    /// Declares that units of an instance are transactions, and the instance is none.
    pub fn has_units(&mut self, instance: InstanceNo) {
        if let Err(at) = self.trace.with_units.binary_search(&instance) {
            self.trace.with_units.insert(at, instance);
        }
    }

    /// Adds an operation on the atomic of this name. It is no operation of the trace.
    pub fn atomic(&mut self, thread: ThreadNo, name: &str, writes: bool, site: SiteNo) {
        let (before, marks) = (self.trace.ops.next_id(), self.trace.transactions.len() as u32);
        let at = self.trace.atomic_names.add(name);
        self.trace.atomics.push(AtomicAccess { before, marks, thread, site, at, writes });
    }

    /// Records that a channel stands for a side of a reader-writer lock.
    pub fn is_lock(&mut self, channel: ChannelNo) {
        if let Err(at) = self.trace.lock_channels.binary_search(&channel) {
            self.trace.lock_channels.insert(at, channel);
        }
    }

    /// Records that the last operation, a write, has written the value that was there.
    pub fn changes_nothing(&mut self) {
        self.trace.unchanged.extend(self.trace.ops.len().checked_sub(1).map(OpNo::new));
    }
}
