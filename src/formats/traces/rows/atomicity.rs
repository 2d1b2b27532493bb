//! Reads what only the analysis of atomicity needs: instances, transaction blocks, operations on atomics, which
//! channels stand for locks, and which writes change nothing.

use super::{Action, Reason, Row, Rows, need};
use crate::base::{Id, IndexVec};
use crate::trace::{LocationNo, TaskNo, ThreadNo};

/// The last value of each location that was read or written, as far as it is known.
#[derive(Default)]
pub(super) struct Values(IndexVec<LocationNo, Option<i64>>);

impl Rows {
    /// Reads a row that is no operation of the trace: the begin or end of a block, or an operation on an atomic.
    pub(super) fn aside(&mut self, row: &Row, thread: ThreadNo) -> Result<(), Reason> {
        match row.kind.as_str() {
            begins @ ("transactionbegin" | "transactionend") => {
                let begins = begins == "transactionbegin";
                let site = self.converted_site(row);
                self.builder.transaction(thread, begins, row.place.as_deref(), site)?;
            }
            begins @ ("unitbegin" | "unitend") => {
                self.builder.part_of_unit(thread, begins == "unitbegin", need(&row.place, "place")?)?;
            }
            "read-lock" | "read-unlock" | "write-lock" | "write-unlock" => {
                for channel in row.receives.iter().chain(&row.sends) {
                    let channel = self.channel(*channel);
                    self.builder.is_lock(channel);
                }
            }
            kind @ ("atomic-read" | "atomic-write" | "cas" | "fetch-add" | "exchange") if row.access.is_none() => {
                // A compare and swap that fails only reads, and so does an operation that was refused.
                let writes = kind != "atomic-read" && !(kind == "cas" && row.value == Some(0));
                let site = self.site(row);
                self.builder.atomic(thread, need(&row.place, "place")?, writes, site);
            }
            _ => {}
        }
        Ok(())
    }

    /// Records the instance that a row gives a task.
    pub(super) fn belongs(&mut self, row: &Row, task: TaskNo) {
        if let Some(instance) = &row.instance {
            let instance = self.builder.instance(instance);
            self.builder.belongs(task, instance);
            if row.units {
                self.builder.has_units(instance);
            }
        }
    }

    /// Keeps the value of an access that was just added.
    pub(super) fn value(&mut self, row: &Row, action: Action) {
        let Some((at, writes)) = action.access().filter(|_| self.of_run) else { return };
        let is_plain = matches!(row.kind.as_str(), "read" | "write") && row.detail.is_none();
        while self.values.0.len() <= at.index() {
            self.values.0.push(None);
        }
        // The read of an object's life comes before its access and has no value.
        let now = row.value.filter(|_| is_plain && writes == (row.kind == "write"));
        let before = std::mem::replace(&mut self.values.0[at], now);
        if writes && now.is_some() && before == now {
            self.builder.changes_nothing();
        }
    }
}
