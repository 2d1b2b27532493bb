//! The analysis of a trace: verdicts on each declared transaction, and the findings.

use super::bits::{Hits, hits};
use super::cycle::Cycles;
use super::findings::group;
use super::spec::{TransactionNo, Transactions};
use super::steps::{StepNo, Steps};
use super::{Atomicity, EdgeRules, Specification};
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

/// Options of an analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtomicityOptions {
    /// Which edges there are.
    pub edges: EdgeRules,
    /// Number of violated transactions of one declared name whose cycles are searched.
    pub most_transactions: usize,
    /// Number of edges that these searches may follow, as a multiple of the number of steps of the trace, over all
    /// transactions. For each transaction they may follow at least 10,000.
    pub search: usize,
}

impl Default for AtomicityOptions {
    fn default() -> Self {
        Self { edges: EdgeRules::Data, most_transactions: 16, search: 8 }
    }
}

/// The steps of violated transactions at which a path comes back.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Verdicts {
    /// Of transactions that are to blame for certain.
    pub certain: Vec<(StepNo, TransactionNo)>,
    /// Of all transactions that lie on a cycle if each declared transaction counts as one node.
    pub joint: Vec<(StepNo, TransactionNo)>,
    /// Number of passes over the trace.
    pub passes: u32,
}

/// Decides which transactions of a trace are violated, and at which steps. `None` if `stop` was set.
///
/// # Examples
///
/// ```
/// use raceflip::detect::atomicity::{EdgeRules, Specification, Steps, Transactions, verdicts};
/// use raceflip::trace::{Action, Builder, SiteNo};
/// # use std::sync::atomic::AtomicBool;
///
/// let mut builder = Builder::new();
/// let (a, b) = (builder.thread("a"), builder.thread("b"));
/// let x = builder.location("x", "x");
/// builder.transaction(a, true, Some("both"), SiteNo::NONE)?;
/// for (thread, action) in [(a, Action::Write(x)), (b, Action::Write(x)), (a, Action::Read(x))] {
///     builder.push(thread, action, SiteNo::NONE, 0)?;
/// }
/// builder.transaction(a, false, Some("both"), SiteNo::NONE)?;
/// let trace = builder.finish();
///
/// let steps = Steps::of(&trace);
/// let blocks = Transactions::of(&steps, Specification::Blocks);
/// let found = verdicts(&steps, &blocks, EdgeRules::Data, &AtomicBool::new(false)).expect("nothing stops it");
/// assert_eq!((found.certain.len(), blocks.all[found.certain[0].1].name.as_str()), (1, "both#1"));
/// # Ok::<(), raceflip::trace::TraceError>(())
/// ```
#[must_use]
pub fn verdicts(
    steps: &Steps<'_>,
    transactions: &Transactions,
    edges: EdgeRules,
    stop: &AtomicBool,
) -> Option<Verdicts> {
    let Hits { steps: certain, passes } = hits(steps, transactions, edges, false, stop)?;
    let Hits { steps: joint, passes: more } = hits(steps, transactions, edges, true, stop)?;
    Some(Verdicts { certain, joint, passes: passes + more })
}

/// Returns what a trace declares: life cycles if tasks belong to instances, blocks if there are any, and trees if there
/// is neither.
#[must_use]
pub fn usual(trace: &Trace) -> Vec<Specification> {
    let lifecycle = (!trace.instances.is_empty()).then_some(Specification::Lifecycle);
    let blocks = trace.transactions.iter().any(|mark| !mark.unit).then_some(Specification::Blocks);
    let declared: Vec<Specification> = lifecycle.into_iter().chain(blocks).collect();
    if declared.is_empty() { vec![Specification::Tree] } else { declared }
}

/// Analyzes a trace under one specification. `None` if `stop` was set.
#[must_use]
pub fn analyze(
    trace: &Trace,
    specification: Specification,
    options: AtomicityOptions,
    stop: &AtomicBool,
) -> Option<Atomicity> {
    let steps = Steps::of(trace);
    let transactions = Transactions::of(&steps, specification);
    let found = verdicts(&steps, &transactions, options.edges, stop)?;
    let all = |hits: &[(StepNo, TransactionNo)]| hits.iter().map(|(_, t)| *t).collect::<BTreeSet<TransactionNo>>();
    let certain = all(&found.certain);
    let joint: BTreeSet<TransactionNo> = all(&found.joint).difference(&certain).copied().collect();
    let mut found_cycles = Vec::new();
    let (mut shown, mut left_out): (BTreeMap<(&str, bool), usize>, usize) = (BTreeMap::new(), 0);
    let mut cases: Vec<(TransactionNo, bool)> =
        certain.iter().map(|t| (*t, false)).chain(joint.iter().map(|t| (*t, true))).collect();
    cases.retain(|(transaction, is_joint)| {
        let count = shown.entry((&transactions.all[*transaction].declared, *is_joint)).or_default();
        *count += 1;
        left_out += usize::from(*count > options.most_transactions);
        *count <= options.most_transactions
    });
    let all_steps = options.search.saturating_mul(steps.all.len());
    let allowance = (all_steps / cases.len().max(1)).max(10_000);
    let cycles = Cycles::new(&steps, &transactions, options.edges);
    for (transaction, is_joint) in cases {
        let (cycles, complete) = cycles.of(transaction, is_joint, allowance, stop)?;
        left_out += usize::from(!complete);
        found_cycles.extend(cycles);
    }
    Some(Atomicity {
        specification,
        transactions: transactions.all.len(),
        declared: transactions.all.iter().map(|own| own.declared.clone()).collect(),
        violated: certain.len(),
        joint: joint.len(),
        findings: group(found_cycles),
        left_out,
        passes: found.passes,
    })
}
