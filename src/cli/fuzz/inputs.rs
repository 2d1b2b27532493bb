//! The inputs of a search: constants whose values are drawn, as the command line and the model say.

use crate::base::clean;
use crate::campaign::{FuzzFailure, FuzzReport, Input, ModelInputs};
use crate::cli::args::VaryArgs;
use crate::cli::io::load::{Model, refused};
use crate::cli::{CommandContext, Refusal};
use crate::lang::variants::{constants, open_ranges};
use crate::lang::{near, parse};
use crate::vm;
use indicatif::HumanCount;
use std::ops::Range;
use std::sync::Arc;

/// Returns the inputs of a model. `None` if no constant is varied.
pub(super) fn of(
    vary: &VaryArgs,
    model: &Model,
    program: &Arc<vm::Model>,
    context: &CommandContext,
) -> Result<Option<ModelInputs>, Refusal> {
    // Constants with a declared range, as far as no -D gives them a value. With many models --vary is not allowed.
    let mut ranges: Vec<(String, Range<i64>)> = open_ranges(&model.program, &model.defines).cloned().collect();
    // The source was parsed before, so this cannot fail.
    let Ok(file) = parse(&model.source) else { return Ok(None) };
    let names = constants(&file);
    for (name, range) in &vary.vary {
        if !names.contains(name) {
            let near = near(name, names.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(Refusal::new(format_args!("--vary {name}: the model has no constant `{name}`{near}")));
        }
        if model.defines.iter().any(|(given, _)| given == name) {
            return Err(Refusal::new(format_args!(
                "the constant `{name}` has a value by -D and a range by --vary: leave out one of them"
            )));
        }
        let beyond = |(known, declared): &&(String, Range<i64>)| {
            known == name && !(declared.contains(&range.start) && declared.contains(&(range.end - 1)))
        };
        if let Some((_, declared)) = model.program.ranges.iter().find(beyond) {
            return Err(Refusal::new(format_args!(
                "--vary {name}={}..{}: the model declares the range {}..{} for `{name}`",
                range.start, range.end, declared.start, declared.end
            )));
        }
        // As with -D, the last one counts; a declared range is the first one.
        ranges.retain(|(known, _)| known != name);
        ranges.push((name.clone(), range.clone()));
    }
    if ranges.is_empty() {
        return Ok(None);
    }
    ranges.sort_by(|(a, _), (b, _)| a.cmp(b));
    ModelInputs::new(program.clone(), file, ranges).map(Some).map_err(|error| refused(&error, &context.out))
}

/// Returns the model with the values that the run of a failure has.
pub(super) fn model(model: &Model, inputs: Option<&ModelInputs>, failure: &FuzzFailure) -> Model {
    let input = failure.smaller_input.as_ref().unwrap_or(&failure.input);
    // A run had these values, so the model can have them.
    let made = inputs.and_then(|inputs| inputs.model(input).ok());
    made.map_or_else(|| model.clone(), |made| model.with(made))
}

/// Returns the values with which a run failed, with a space before them: ` with N = 3; it is shown with
/// N = 1`.
pub(super) fn values(found: &FuzzReport, failure: &FuzzFailure) -> String {
    if found.inputs.varied.is_empty() {
        return String::new();
    }
    let shown = failure.smaller_input.as_ref().map(|input| format!("; it is shown with {}", text(found, input)));
    format!(" with {}{}", text(found, &failure.input), shown.unwrap_or_default())
}

// Returns the values of an input: `N = 3, M = 0`.
fn text(found: &FuzzReport, input: &Input) -> String {
    let values = found.inputs.named(input).map(|(name, value)| format!("{name} = {value}"));
    values.collect::<Vec<_>>().join(", ")
}

/// Returns how many inputs had runs: `12 of 36: N in 1..4, M in 0..12; the model cannot have 2 (N = 0: ..)`.
pub(super) fn coverage(found: &FuzzReport) -> String {
    let inputs = &found.inputs;
    let possible = match inputs.possible {
        u64::MAX => "very many".to_owned(),
        possible => HumanCount(possible).to_string(),
    };
    let ranges = inputs.varied.iter().map(|(name, range)| format!("{name} in {}..{}", range.start, range.end));
    let mut line = format!("{} of {possible}: {}", HumanCount(inputs.run), ranges.collect::<Vec<_>>().join(", "));
    if let Some((input, why)) = inputs.refused.first() {
        let refused = HumanCount(inputs.refused.len() as u64);
        line += &format!("; the model cannot have {refused} (as {}: {})", text(found, input), clean(why));
    }
    line
}
