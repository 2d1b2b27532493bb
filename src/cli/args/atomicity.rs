//! Options of the analysis of atomicity, which `detect` and `analyze` share.

use super::head;
use crate::detect::atomicity::{AtomicityOptions, EdgeRules, Specification};
use clap::ValueEnum;
use clap::builder::PossibleValue;

/// Options of the analysis of atomicity.
#[derive(clap::Args, Clone, Debug)]
pub(in crate::cli) struct AtomicityArgs {
    /// What is meant to happen in one piece; by default what the model or trace declares
    #[arg(long, value_enum, value_name = "SPEC", value_delimiter = ',', help_heading = head::EFFORT)]
    pub(in crate::cli) atomic: Vec<SpecificationArg>,
    /// Edges of the analysis of atomicity
    #[arg(long, value_enum, default_value_t, value_name = "EDGES", help_heading = head::EFFORT)]
    edges: EdgesArg,
}

impl AtomicityArgs {
    /// Returns the options of the analysis.
    pub(in crate::cli) fn options(&self) -> AtomicityOptions {
        AtomicityOptions { edges: self.edges.0, ..AtomicityOptions::default() }
    }

    /// Returns the specifications that were asked for, each once; empty if none was.
    pub(in crate::cli) fn specifications(&self) -> Vec<Specification> {
        let asked = |of: &Specification| self.atomic.iter().any(|arg| arg.0 == *of);
        Specification::ALL.into_iter().filter(asked).collect()
    }

    /// Returns the specifications that were asked for, or else the usual ones of a model.
    pub(in crate::cli) fn wanted(&self) -> Vec<Specification> {
        let asked = self.specifications();
        if asked.is_empty() { Specification::USUAL.to_vec() } else { asked }
    }

    /// Returns the names of the specifications that were asked for.
    pub(in crate::cli) fn names(&self) -> Vec<String> {
        self.specifications().into_iter().map(|of| of.name().to_owned()).collect()
    }

    /// Whether an option was given.
    pub(in crate::cli) fn is_given(&self) -> bool {
        !self.atomic.is_empty() || self.edges != EdgesArg::default()
    }
}

/// A specification, the value of `--atomic`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cli) struct SpecificationArg(Specification);

impl ValueEnum for SpecificationArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [SpecificationArg; 4] = [
            SpecificationArg(Specification::ALL[0]),
            SpecificationArg(Specification::ALL[1]),
            SpecificationArg(Specification::ALL[2]),
            SpecificationArg(Specification::ALL[3]),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.help()))
    }
}

/// Which edges there are, the value of `--edges`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::cli) struct EdgesArg(EdgeRules);

impl ValueEnum for EdgesArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [EdgesArg; 2] = [EdgesArg(EdgeRules::Data), EdgesArg(EdgeRules::Paper)];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let EdgesArg(rules) = self;
        Some(PossibleValue::new(rules.name()).help(rules.help()))
    }
}
