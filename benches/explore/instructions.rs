//! Counts the instructions of a transition, which do not depend on other load of the machine. This program searches two
//! sizes of a workload under valgrind; the difference is the cost of the transitions in between, without the start.

use crate::callgrind;
use crate::tools::{self, Tool};
use crate::workloads::{Program, Workload};

/// Sizes of each workload, the small one first.
const SIZES: [(Program, [(u64, u64); 2]); 5] = [
    (Program::Philosophers, [(4, 0), (8, 0)]),
    (Program::Buffer, [(1, 3), (2, 3)]),
    (Program::Peterson, [(2, 2), (3, 2)]),
    (Program::Readers, [(2, 0), (5, 0)]),
    (Program::Tasks, [(2, 0), (5, 0)]),
];

/// Instructions of a transition.
pub(crate) struct Counted {
    pub(crate) workload: Workload,
    pub(crate) a_transition: f64,
    /// The same of a search that looks for livelocks as well.
    pub(crate) with_livelocks: f64,
    pub(crate) transitions: u64,
}

/// Counts the instructions of raceflip in each workload.
///
/// # Errors
///
/// A search fails, or valgrind says something else than what is expected.
pub(crate) fn all() -> Result<Vec<Counted>, String> {
    let of = |program, (n, second)| Workload { program, n, second };
    let count = |(program, [small, large]): (Program, [(u64, u64); 2])| {
        let (small, workload) = (of(program, small), of(program, large));
        let of_tool = |tool| {
            let (few, many) = (counted(tool, small)?, counted(tool, workload)?);
            let transitions = many.1 - few.1;
            Ok::<_, String>((many.0.saturating_sub(few.0) as f64 / transitions as f64, transitions))
        };
        let (a_transition, transitions) = of_tool(Tool::Raceflip)?;
        let (with_livelocks, _) = of_tool(Tool::RaceflipLivelocks)?;
        Ok(Counted { workload, a_transition, with_livelocks, transitions })
    };
    SIZES.into_iter().map(count).collect()
}

// Returns the instructions and the transitions of a search in a process of its own.
fn counted(tool: Tool, workload: Workload) -> Result<(u64, u64), String> {
    let args = tools::arguments(tool, workload);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (instructions, text) = callgrind::collected(&args)?;
    let found = tools::parse(&text).ok_or_else(|| format!("{workload}: a search said `{text}`"))?;
    Ok((instructions, found.counts.transitions))
}
