//! Lists the published programs by name, with the models that stand for them.

/// A program: its published name, its model, and the constants that select the model's variant.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
    pub(crate) defines: &'static [(&'static str, i64)],
}

const fn p(name: &'static str, path: &'static str, defines: &'static [(&'static str, i64)]) -> Program {
    Program { name, path, defines }
}

/// Name of the hardest program, which has its own cap.
pub(crate) const SAFESTACK: &str = "SafeStack";

/// The programs of SCTBench and its successors, and of ConVul.
pub(crate) const ALL: [Program; 63] = [
    p("CS/account", "harnesses/sctbench/account.race", &[]),
    p("CS/arithmetic_prog", "harnesses/sctbench/arithmetic_prog.race", &[]),
    p("CS/bluetooth_driver", "harnesses/sctbench/bluetooth_driver.race", &[]),
    p("CS/carter01", "harnesses/sctbench/carter01.race", &[]),
    p("CS/circular_buffer", "harnesses/sctbench/circular_buffer.race", &[]),
    p("CS/deadlock01", "harnesses/sctbench/deadlock01.race", &[]),
    p("CS/din_phil2", "harnesses/sctbench/din_phil.race", &[("N", 2)]),
    p("CS/din_phil3", "harnesses/sctbench/din_phil.race", &[("N", 3)]),
    p("CS/din_phil4", "harnesses/sctbench/din_phil.race", &[("N", 4)]),
    p("CS/din_phil5", "harnesses/sctbench/din_phil.race", &[("N", 5)]),
    p("CS/din_phil6", "harnesses/sctbench/din_phil.race", &[("N", 6)]),
    p("CS/din_phil7", "harnesses/sctbench/din_phil.race", &[("N", 7)]),
    p("CS/fsbench", "harnesses/sctbench/fsbench.race", &[]),
    p("CS/lazy01", "harnesses/sctbench/lazy01.race", &[]),
    p("CS/phase01", "harnesses/sctbench/phase01.race", &[]),
    p("CS/queue", "harnesses/sctbench/queue.race", &[]),
    p("CS/reorder_3", "harnesses/sctbench/reorder.race", &[("SETTERS", 2), ("CHECKERS", 1)]),
    p("CS/reorder_4", "harnesses/sctbench/reorder.race", &[("SETTERS", 3), ("CHECKERS", 1)]),
    p("CS/reorder_5", "harnesses/sctbench/reorder.race", &[("SETTERS", 4), ("CHECKERS", 1)]),
    p("CS/reorder_10", "harnesses/sctbench/reorder.race", &[("SETTERS", 9), ("CHECKERS", 1)]),
    p("CS/reorder_20", "harnesses/sctbench/reorder.race", &[("SETTERS", 10), ("CHECKERS", 10)]),
    p("CS/reorder_50", "harnesses/sctbench/reorder.race", &[("SETTERS", 40), ("CHECKERS", 10)]),
    p("CS/reorder_100", "harnesses/sctbench/reorder.race", &[("SETTERS", 99), ("CHECKERS", 1)]),
    p("CS/stack", "harnesses/sctbench/stack.race", &[]),
    p("CS/sync01", "harnesses/sctbench/sync01.race", &[]),
    p("CS/sync02", "harnesses/sctbench/sync02.race", &[]),
    p("CS/token_ring", "harnesses/sctbench/token_ring.race", &[]),
    p("CS/twostage", "harnesses/sctbench/twostage.race", &[("WRITERS", 1), ("READERS", 1)]),
    p("CS/twostage_20", "harnesses/sctbench/twostage.race", &[("WRITERS", 10), ("READERS", 10)]),
    p("CS/twostage_50", "harnesses/sctbench/twostage.race", &[("WRITERS", 40), ("READERS", 10)]),
    p("CS/twostage_100", "harnesses/sctbench/twostage.race", &[("WRITERS", 99), ("READERS", 1)]),
    p("CS/wronglock", "harnesses/sctbench/wronglock.race", &[("OTHERS", 7)]),
    p("CS/wronglock_3", "harnesses/sctbench/wronglock.race", &[("OTHERS", 3)]),
    p("Chess/WorkStealQueue", "harnesses/sctbench/work_steal_queue.race", &[("SPIN", 0)]),
    p("Chess/InterlockedWorkStealQueue", "harnesses/sctbench/work_steal_queue.race", &[("SPIN", 1)]),
    p("Chess/InterlockedWorkStealQueueWithState", "harnesses/sctbench/work_steal_state.race", &[]),
    p("Chess/StateWorkStealQueue", "harnesses/sctbench/work_steal_state.race", &[]),
    p("Inspect_benchmarks/bbuf", "harnesses/sctbench/bbuf.race", &[]),
    p("Inspect_benchmarks/boundedBuffer", "harnesses/sctbench/bounded_buffer.race", &[]),
    p("Inspect_benchmarks/ctrace-test", "harnesses/sctbench/ctrace.race", &[]),
    p("Inspect_benchmarks/qsort_mt", "harnesses/sctbench/qsort_mt.race", &[]),
    p("CB/aget-bug2", "harnesses/sctbench/aget.race", &[]),
    p("CB/pbzip2-0.9.4", "harnesses/sctbench/pbzip2.race", &[]),
    p("CB/stringbuffer-jdk1.4", "harnesses/sctbench/stringbuffer.race", &[]),
    p(SAFESTACK, "harnesses/sctbench/safestack.race", &[]),
    p("Splash2/barnes", "harnesses/sctbench/splash2_end.race", &[]),
    p("Splash2/fft", "harnesses/sctbench/splash2_end.race", &[]),
    p("Splash2/lu", "harnesses/sctbench/splash2_end.race", &[]),
    p("RADBench/bug2", "harnesses/sctbench/radbench_bug2.race", &[]),
    p("RADBench/bug3", "harnesses/sctbench/radbench_bug3.race", &[]),
    p("RADBench/bug4", "harnesses/sctbench/radbench_bug4.race", &[]),
    p("RADBench/bug5", "harnesses/sctbench/radbench_bug5.race", &[]),
    p("RADBench/bug6", "harnesses/sctbench/radbench_bug6.race", &[]),
    p("ConVul/CVE-2009-3547", "harnesses/convul/cve_2009_3547.race", &[]),
    p("ConVul/CVE-2011-2183", "harnesses/convul/cve_2011_2183.race", &[]),
    p("ConVul/CVE-2013-1792", "harnesses/convul/cve_2013_1792.race", &[]),
    p("ConVul/CVE-2015-7550", "harnesses/convul/cve_2015_7550.race", &[]),
    p("ConVul/CVE-2016-1972", "harnesses/convul/cve_2016_1972.race", &[]),
    p("ConVul/CVE-2016-1973", "harnesses/convul/cve_2016_1973.race", &[]),
    p("ConVul/CVE-2016-7911", "harnesses/convul/cve_2016_7911.race", &[]),
    p("ConVul/CVE-2016-9806", "harnesses/convul/cve_2016_9806.race", &[]),
    p("ConVul/CVE-2017-15265", "harnesses/convul/cve_2017_15265.race", &[]),
    p("ConVul/CVE-2017-6346", "harnesses/convul/cve_2017_6346.race", &[]),
];
