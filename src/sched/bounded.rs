//! The parameters of strategies with a bound and a number of steps: `pct:3,steps=200`.

use super::error::SpecError;
use super::spec::Spec;
use std::fmt;

/// Maximum depth and maximum number of delays. A bound of 1/k^1000 would say nothing.
const MOST: u32 = 1_000;

/// Parses the text behind the name: a bound of at least `least`, and the steps if they are given. Without a text the
/// bound is `default`.
pub(super) fn parse<S: Spec>(text: Option<&str>, least: u32, default: u32) -> Result<(u32, Option<u32>), SpecError> {
    let Some(text) = text else { return Ok((default, None)) };
    let (bound, option) = text.split_once(',').map_or((text, None), |(bound, option)| (bound, Some(option)));
    let number = bound.parse().ok().filter(|n| (least..=MOST).contains(n));
    let number = number.ok_or_else(|| {
        let name = S::NAME;
        S::wrong(bound, format!("not a number from {least} to {MOST}: use `{name}:3` or `{name}:3,steps=1000`"))
    })?;
    Ok((number, option.map(parse_steps::<S>).transpose()?))
}

fn parse_steps<S: Spec>(option: &str) -> Result<u32, SpecError> {
    let steps = option.strip_prefix("steps=").and_then(|n| n.parse().ok()).filter(|n| *n > 0);
    steps.ok_or_else(|| S::wrong(option, "not a number of steps, at least 1: use `steps=1000`"))
}

/// Writes what [`parse`] reads, behind the name.
pub(super) fn write<S: Spec>(f: &mut fmt::Formatter<'_>, bound: u32, steps: Option<u32>) -> fmt::Result {
    write!(f, "{}:{bound}", S::NAME)?;
    steps.map_or(Ok(()), |steps| write!(f, ",steps={steps}"))
}

/// Returns the number of steps. Fails if it was not given and no profile run supplied it.
pub(super) fn given<S: Spec>(spec: &S, steps: Option<u32>) -> Result<u32, SpecError> {
    steps.ok_or_else(|| spec.missing(format!("the number of steps that a run takes: use `{spec},steps=1000`")))
}
