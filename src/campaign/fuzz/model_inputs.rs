//! The inputs of a model: the values of some of its constants.

use super::inputs::{Input, InputSpace};
use crate::lang::ast::File;
use crate::vm::{Model, ModelError};
use std::ops::Range;
use std::sync::Arc;

/// The programs of a model, by the values of constants that have ranges.
pub struct ModelInputs {
    model: Arc<Model>,
    file: File,
    ranges: Vec<(String, Range<i64>)>,
    first: (Input, Arc<Model>),
}

impl ModelInputs {
    /// Returns the inputs of a model, of which `file` is the tree. In the first one each constant has the value that it
    /// has in the model, if its range contains it, and the start of its range otherwise.
    ///
    /// # Errors
    ///
    /// Returns a [`ModelError`] if the model does not have one of the constants, or cannot have the first input.
    ///
    /// # Panics
    ///
    /// Panics if a range is empty.
    pub fn new(model: Arc<Model>, file: File, ranges: Vec<(String, Range<i64>)>) -> Result<Self, ModelError> {
        assert!(ranges.iter().all(|(_, range)| !range.is_empty()), "no range is empty");
        let own = |name: &str| model.program.consts.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        let first =
            |(name, range): &(String, Range<i64>)| own(name).filter(|v| range.contains(v)).unwrap_or(range.start);
        let values: Input = ranges.iter().map(first).collect();
        let is_own = ranges.iter().zip(&values).all(|((name, _), value)| own(name) == Some(*value));
        let program = match is_own {
            true => model.clone(),
            false => Arc::new(made(&model, &file, &ranges, &values)?),
        };
        Ok(Self { model, file, ranges, first: (values, program) })
    }

    /// Returns the model with these values.
    ///
    /// # Errors
    ///
    /// Returns a [`ModelError`] if the model cannot have these values.
    pub fn model(&self, input: &[i64]) -> Result<Model, ModelError> {
        made(&self.model, &self.file, &self.ranges, input)
    }
}

// Returns the model with these values of the constants, beside those that it was given before.
fn made(model: &Model, file: &File, ranges: &[(String, Range<i64>)], input: &[i64]) -> Result<Model, ModelError> {
    let varied = |name: &str| ranges.iter().any(|(known, _)| known == name);
    let mut defines: Vec<(String, i64)> = model.defines.iter().filter(|(name, _)| !varied(name)).cloned().collect();
    defines.extend(ranges.iter().map(|(name, _)| name.clone()).zip(input.iter().copied()));
    defines.sort();
    Model::from_tree(model.source.clone(), file, &defines)
}

impl InputSpace<Model> for ModelInputs {
    fn ranges(&self) -> &[(String, Range<i64>)] {
        &self.ranges
    }

    fn first(&self) -> (Input, Arc<Model>) {
        self.first.clone()
    }

    fn program(&self, input: &[i64]) -> Result<Arc<Model>, String> {
        // The first program may be the model itself, whose tokens do not name the constants.
        if *input == self.first.0 {
            return Ok(self.first.1.clone());
        }
        // The first line says what is wrong; the lines after it show the place.
        let why = |error: ModelError| {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            line.strip_prefix("error: ").unwrap_or(line).to_owned()
        };
        self.model(input).map(Arc::new).map_err(why)
    }
}
