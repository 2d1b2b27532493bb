//! Models: turns a text into a program that can run, in one call.

use super::compile::{CompileError, compile, compile_alike};
use super::{Code, Vm};
use crate::base::clean;
use crate::event::{EndValue, GlobalId};
use crate::lang::ast::File;
use crate::lang::{Alike, CheckErrors, Program, Source, SourceError, check, parse, render, syntax_errors};
use crate::world::{self, EndValues, Limits, Machine, Memory, Search, Setup};
use std::sync::Arc;

/// A model that is checked and compiled.
///
/// # Examples
///
/// ```
/// use raceflip::vm::Model;
///
/// let text = "const N = 2; var x = 0; thread a { x += N }; thread b { x += N }";
/// let model = Model::from_text("add.race", text, &[("N".to_owned(), 3)])?;
/// assert_eq!(model.program.threads.len(), 2);
///
/// let error = Model::from_text("add.race", "var x = 0; thread a { y += 1 }", &[]).unwrap_err();
/// assert!(error.to_string().starts_with("error: unknown name `y`"));
/// # Ok::<(), raceflip::vm::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    /// The text of the model.
    pub source: Source,
    /// The checked program: names, sites, `expect` lines.
    pub program: Program,
    /// The compiled program, which all workers share.
    pub code: Arc<Code>,
    /// The constants that got other values, with these values.
    pub defines: Vec<(String, i64)>,
}

/// The reason why a text is not a model.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The input is too large or not UTF-8.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The text has errors. `Display` renders them without colors.
    #[error("{}", rendered(.0, .1, false))]
    Errors(Source, CheckErrors),
    /// The program is too large to compile.
    #[error("{0}: {1}")]
    Compile(String, CompileError),
}

// `Debug` shows the message, because a `main` that returns the error prints it with `Debug`.
impl std::fmt::Debug for ModelError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl ModelError {
    fn syntax(source: &Source) -> Self {
        Self::Errors(source.clone(), CheckErrors { defines: Vec::new(), diagnostics: syntax_errors(source) })
    }

    /// Returns the errors in the text, rendered for a terminal. `None` if the error is not one of the text.
    #[must_use]
    pub fn render(&self, colour: bool) -> Option<String> {
        match self {
            Self::Errors(source, errors) => Some(rendered(source, errors, colour)),
            Self::Source(_) | Self::Compile(..) => None,
        }
    }
}

fn rendered(source: &Source, errors: &CheckErrors, colour: bool) -> String {
    let defines =
        errors.defines.iter().map(|e| format!("error: {}: {}\n", clean(source.name()), clean(&e.to_string())));
    defines.chain([render(source, &errors.diagnostics, colour)]).collect()
}

impl Model {
    /// Builds the model of a text. `name` is for messages, usually a path. `defines` gives constants other values (`-D`
    /// of the command line).
    ///
    /// # Errors
    ///
    /// Returns a [`ModelError`] if the text is too long, if it has errors of syntax or of meaning, if `defines` names a
    /// constant that the model does not have, or if the program exceeds a limit of the compiler.
    pub fn from_text(name: &str, text: &str, defines: &[(String, i64)]) -> Result<Self, ModelError> {
        Self::from_source(Source::new(name, text)?, defines)
    }

    /// Builds the model of a source. `defines` gives constants other values.
    ///
    /// # Errors
    ///
    /// Returns a [`ModelError`] in the cases of [`from_text`](Self::from_text), except for the length of the text.
    pub fn from_source(source: Source, defines: &[(String, i64)]) -> Result<Self, ModelError> {
        let file = parse(&source).map_err(|_| ModelError::syntax(&source))?;
        Self::from_tree(source, &file, defines)
    }

    /// Builds the model of a source that has been parsed already. `defines` gives constants other values.
    ///
    /// # Errors
    ///
    /// Returns a [`ModelError`] if the tree has errors of meaning, if `defines` names a constant that the model does
    /// not have, or if the program exceeds a limit of the compiler.
    pub fn from_tree(source: Source, file: &File, defines: &[(String, i64)]) -> Result<Self, ModelError> {
        match check(file, &source, defines) {
            Err(errors) => Err(ModelError::Errors(source, errors)),
            Ok(program) => Self::from_program(source, program, defines),
        }
    }

    /// Builds the model of a source that has been checked already, with these values of constants.
    ///
    /// # Errors
    ///
    /// Returns a [`ModelError`] if the program exceeds a limit of the compiler.
    pub fn from_program(source: Source, program: Program, defines: &[(String, i64)]) -> Result<Self, ModelError> {
        match compile(&program) {
            Err(error) => Err(ModelError::Compile(source.name().to_owned(), error)),
            Ok(code) => Ok(Self { source, program, code: Arc::new(code), defines: defines.to_vec() }),
        }
    }

    /// Creates a machine that can run the model any number of times.
    #[must_use]
    pub fn machine(&self, limits: Limits) -> Machine<Vm> {
        Machine::new(Vm::new(self.code.clone()), limits)
    }

    /// Returns the model for a symmetric search, whose machines can rename the threads that are alike. Its runs are
    /// those of this model.
    ///
    /// # Errors
    ///
    /// Returns a [`CompileError`] if a body exceeds a limit of the compiler: this code needs more registers.
    pub fn with_symmetry(&self, alike: &Alike) -> Result<Self, CompileError> {
        let code = Arc::new(compile_alike(&self.program, alike)?);
        Ok(Self { code, ..self.clone() })
    }

    /// Returns the digest of the program that a token stores.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.code.digest() as u64
    }
}

impl EndValues for Model {
    fn end_value(&self, variable: GlobalId, memory: &Memory) -> EndValue {
        self.program.end_value(variable, memory)
    }
}

impl world::Program for Model {
    type Guest = Vm;

    fn setup(&self) -> &Arc<Setup> {
        &self.code.setup
    }

    fn machine(&self, limits: Limits) -> Machine<Vm> {
        self.machine(limits)
    }

    fn digest(&self) -> u64 {
        self.digest()
    }

    fn defines(&self) -> &[(String, i64)] {
        &self.defines
    }

    fn search<S: Search<Self>>(&self, search: S) -> Option<S::Answer> {
        Some(search.perform(self))
    }
}
