//! What cargo and a user say to every benchmark.

/// How much a benchmark does.
#[derive(clap::Args)]
pub(crate) struct Mode {
    /// Only to see that it works
    #[arg(long)]
    quick: bool,
    /// Given by `cargo bench`, not by `cargo test`
    #[arg(long, hide = true)]
    bench: bool,
    /// Names of benchmarks, which cargo hands to all of them
    #[arg(hide = true)]
    filters: Vec<String>,
}

impl Mode {
    /// Returns whether the benchmark is a smoke test, whose numbers are meaningless.
    pub(crate) fn is_quick(&self) -> bool {
        self.quick || !self.bench
    }
}
