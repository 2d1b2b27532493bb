//! Options that limit a run.

use super::head;
use crate::cli::io::timer::virtual_time;
use crate::world::Limits;
use clap::Args;

/// Limits of a run. A run that reaches one ends with the outcome `limit`, which says which option raises it.
#[derive(Args, Clone, Debug, Default)]
pub(in crate::cli) struct LimitArgs {
    /// Number of steps [default: 100000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = head::LIMITS)]
    steps: Option<u64>,
    /// Time of the virtual clock, as in `500ms`, `30s`, `10m`, `1h` or `2d` [default: 30d]
    #[arg(long, value_name = "TIME", value_parser = virtual_time, help_heading = head::LIMITS)]
    virtual_time: Option<u64>,
    /// Number of objects created, including deleted ones [default: 100000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    objects: Option<u32>,
    /// Number of threads created, including finished ones [default: 4096]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    threads: Option<u32>,
    /// Number of messages in one queue [default: 100000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    queue: Option<u32>,
    /// Number of elements of one list [default: 1000000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    list: Option<u32>,
    /// Number of instructions of a thread between two visible operations [default: 1000000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    local: Option<u64>,
    /// Depth of nested calls; a deeper call is the failure StackOverflow [default: 256]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    depth: Option<u32>,
    /// Number of cells of all objects and of all stacks at their maximum [default: 10000000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    cells: Option<u32>,
}

impl LimitArgs {
    pub(in crate::cli) fn resolve(&self) -> Limits {
        let d = Limits::default();
        Limits {
            steps: self.steps.unwrap_or(d.steps),
            time: self.virtual_time.unwrap_or(d.time),
            objects: self.objects.unwrap_or(d.objects),
            threads: self.threads.unwrap_or(d.threads),
            queue: self.queue.unwrap_or(d.queue),
            list: self.list.unwrap_or(d.list),
            local: self.local.unwrap_or(d.local),
            depth: self.depth.unwrap_or(d.depth),
            cells: self.cells.unwrap_or(d.cells),
        }
    }
}
