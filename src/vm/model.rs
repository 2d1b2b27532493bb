//! From a text to a model that can run, in one call.

use super::compile::{CompileError, compile};
use super::{Code, Vm};
use crate::base::clean;
use crate::lang::ast::File;
use crate::lang::{CheckErrors, Program, Source, SourceError, check, parse, render, syntax_errors};
use crate::world::{Limits, Machine};
use std::sync::Arc;

/// A model, checked and compiled.
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
    /// Its text.
    pub source: Source,
    /// The text checked: names, sites, `expect` lines.
    pub program: Program,
    /// The program compiled; workers share it.
    pub code: Arc<Code>,
    /// The constants that were given other values.
    pub defines: Vec<(String, i64)>,
}

/// Why a text is no model.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// It is no text.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It has errors; as text they are rendered, without colours.
    #[error("{}", rendered(.0, .1, false))]
    Errors(Source, CheckErrors),
    /// It is too large.
    #[error("{0}: {1}")]
    Compile(String, CompileError),
}

// What a `main` that returns it prints.
impl std::fmt::Debug for ModelError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl ModelError {
    fn syntax(source: &Source) -> Self {
        Self::Errors(source.clone(), CheckErrors { defines: Vec::new(), diagnostics: syntax_errors(source) })
    }

    /// What is wrong in the text, as a terminal shows it; `None` if it is something else.
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
    /// The model of a text, with constants given other values (`-D` of the command line). `name` is for messages: a path, as a rule.
    pub fn from_text(name: &str, text: &str, defines: &[(String, i64)]) -> Result<Self, ModelError> {
        Self::from_source(Source::new(name, text)?, defines)
    }

    /// The same of a source.
    pub fn from_source(source: Source, defines: &[(String, i64)]) -> Result<Self, ModelError> {
        let file = parse(&source).map_err(|_| ModelError::syntax(&source))?;
        Self::from_tree(source, &file, defines)
    }

    /// The same of a source whose tree is known.
    pub fn from_tree(source: Source, file: &File, defines: &[(String, i64)]) -> Result<Self, ModelError> {
        match check(file, &source, defines) {
            Err(errors) => Err(ModelError::Errors(source, errors)),
            Ok(program) => match compile(&program) {
                Err(error) => Err(ModelError::Compile(source.name().to_owned(), error)),
                Ok(code) => Ok(Self { source, program, code: Arc::new(code), defines: defines.to_vec() }),
            },
        }
    }

    /// A machine that can run it, as often as one likes.
    #[must_use]
    pub fn machine(&self, limits: Limits) -> Machine<Vm> {
        Machine::new(Vm::new(self.code.clone()), limits)
    }

    /// What a token remembers of the program.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.code.digest() as u64
    }
}
