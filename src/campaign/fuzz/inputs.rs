//! The inputs of a campaign: programs that are one model with other values of some constants.
//!
//! Each run has an input. The first run has the values that the model declares. For a later one three inputs are drawn,
//! and the one with the fewest runs is taken. Possible pairs are common to all inputs ([`names`](super::names)). States
//! are kept by input, because the choices that lead to one mean nothing in another program.

use super::memory::FuzzMemoryError;
use super::names::{CommonNames, NameMap};
use super::shown::atomic_cells;
use super::state::{InputState, Learned};
use crate::base::Rng;
use crate::campaign::plan::CampaignPlan;
use crate::lang::variants::possible_inputs;
use crate::world::{Program, Setup};
use indexmap::IndexMap;
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Values of the varied constants, in the order of [`InputSpace::ranges`].
pub type Input = Vec<i64>;

/// The programs of a model, by the values of some constants.
pub trait InputSpace<P>: Sync {
    /// Returns the constants that are varied, each with its possible values. No range is empty.
    fn ranges(&self) -> &[(String, Range<i64>)];

    /// Returns whether the constant is varied.
    fn varies(&self, name: &str) -> bool {
        self.ranges().iter().any(|(known, _)| known == name)
    }

    /// Returns the input of the first run, and its program.
    fn first(&self) -> (Input, Arc<P>);

    /// Returns the program with these values.
    ///
    /// # Errors
    ///
    /// Returns the reason if the model cannot have these values.
    fn program(&self, input: &[i64]) -> Result<Arc<P>, String>;
}

/// The inputs of a campaign that has ended. Without varied constants there is one, which has no values.
#[derive(Clone, Debug)]
pub struct FuzzInputs {
    /// The declarations to which common statements refer: with several inputs, the sites, bodies and events of all
    /// their programs.
    pub setup: Setup,
    /// The constants that were varied, each with its range.
    pub varied: Vec<(String, Range<i64>)>,
    /// The inputs, in the order in which they were first drawn.
    pub known: Vec<Input>,
    /// Number of inputs that had runs.
    pub run: u64,
    /// Number of inputs that there are; at most `u64::MAX`.
    pub possible: u64,
    /// Values that the model cannot have, in the order in which they were drawn, and why.
    pub refused: Vec<(Input, String)>,
}

impl FuzzInputs {
    pub(super) fn new(setup: Setup, ranges: &[(String, Range<i64>)], learned: &Learned) -> Self {
        let all = || learned.inputs.iter();
        let refused = all().filter_map(|(values, input)| Some((values.clone(), input.refused.clone()?)));
        Self {
            setup,
            varied: ranges.to_vec(),
            known: learned.inputs.keys().cloned().collect(),
            run: all().filter(|(_, input)| input.runs > 0).count() as u64,
            possible: possible_inputs(ranges),
            refused: refused.collect(),
        }
    }

    /// Returns the values of an input with the names of the constants.
    pub fn named<'i>(&'i self, input: &'i Input) -> impl Iterator<Item = (&'i str, i64)> {
        self.varied.iter().map(|(name, _)| name.as_str()).zip(input.iter().copied())
    }
}

/// The program of an input, and what its runs need.
pub(super) struct InputProgram<P> {
    /// The plan of the campaign, with the program of this input.
    pub(super) plan: CampaignPlan<P>,
    pub(super) atomics: Arc<[bool]>,
    /// How its numbers translate into common ones. `None` if the campaign has a single program.
    pub(super) names: Option<NameMap>,
}

/// The programs of all inputs that a campaign has used.
pub(super) struct Programs<'p, P> {
    plan: &'p CampaignPlan<P>,
    space: Option<&'p dyn InputSpace<P>>,
    names: Mutex<CommonNames>,
    // By the number of the input. Only the last ones are kept; another program is compiled anew if it is needed.
    made: RwLock<IndexMap<usize, Arc<InputProgram<P>>>>,
}

/// Maximum number of programs that are kept, and of the cells that all of them have.
const MOST_PROGRAMS: usize = 256;
const MOST_CELLS: usize = 1 << 20;

/// Maximum number of inputs.
const MOST_INPUTS: usize = 100_000;

/// Number of inputs that are drawn to find one with few runs.
const DRAWN: usize = 3;

/// One draw of so many takes an end of the range, where mistakes are likelier.
const ENDS: u32 = 4;

impl<'p, P: Program> Programs<'p, P> {
    /// Creates the programs of a campaign. Without a space there is one input, the program of the plan.
    pub(super) fn new(plan: &'p CampaignPlan<P>, space: Option<&'p dyn InputSpace<P>>) -> Self {
        let programs = Self { plan, space, names: Mutex::default(), made: RwLock::default() };
        let program = space.map(|space| space.first().1);
        programs.keep(0, program.map_or_else(|| plan.clone(), |program| CampaignPlan { program, ..plan.clone() }));
        programs
    }

    /// Returns the declarations to which the statements of this campaign refer.
    pub(super) fn setup(&self) -> Setup {
        match self.space {
            Some(_) => self.names.lock().setup().clone(),
            None => Setup::clone(self.plan.program.setup()),
        }
    }

    /// Returns the values of the first input.
    pub(super) fn first(&self) -> Input {
        self.space.map_or_else(Vec::new, |space| space.first().0)
    }

    /// Returns the names and ranges of the constants that are varied.
    pub(super) fn ranges(&self) -> &[(String, Range<i64>)] {
        self.space.map_or(&[], InputSpace::ranges)
    }

    /// Returns the input of a run with these values of constants. `None` if it is none of this campaign: a varied
    /// constant is not in its range, or another one has another value.
    pub(super) fn input_of(&self, defines: &[(String, i64)]) -> Option<Input> {
        let varies = |name: &str| self.space.is_some_and(|space| space.varies(name));
        let fixed = |defines: &[(String, i64)]| -> BTreeSet<(String, i64)> {
            defines.iter().filter(|(name, _)| !varies(name)).cloned().collect()
        };
        if fixed(defines) != fixed(self.plan.program.defines()) {
            return None;
        }
        let value = |((name, range), declared): (&(String, Range<i64>), i64)| {
            let given = defines.iter().find(|(given, _)| given == name).map_or(declared, |(_, value)| *value);
            range.contains(&given).then_some(given)
        };
        self.ranges().iter().zip(self.first()).map(value).collect()
    }

    /// Draws some inputs, and returns the first of those with the fewest runs. `runs` is that number.
    pub(super) fn draw(&self, rng: &mut Rng, runs: impl Fn(&Input) -> u64) -> Input {
        let draw = |_| self.ranges().iter().map(|(_, range)| value(rng, range)).collect::<Input>();
        let drawn: Vec<Input> = (0..DRAWN).map(draw).collect();
        drawn.into_iter().min_by_key(runs).unwrap_or_default()
    }

    /// Adds the input of this number.
    ///
    /// # Errors
    ///
    /// Returns the reason if the model cannot have these values.
    pub(super) fn add(&self, number: usize, input: &[i64]) -> Result<(), String> {
        self.made(input).map(|plan| _ = self.keep(number, plan))
    }

    /// Adds the inputs that a campaign has used, in their order.
    ///
    /// # Errors
    ///
    /// Returns [`FuzzMemoryError::Inputs`] if they are not inputs of this campaign.
    pub(super) fn add_again(&self, learned: &Learned) -> Result<(), FuzzMemoryError> {
        for (number, (values, known)) in learned.inputs.iter().enumerate() {
            let fits = values.len() == self.ranges().len()
                && values.iter().zip(self.ranges()).all(|(value, (_, range))| range.contains(value))
                && (number > 0 || *values == self.first());
            if !fits || known.refused.is_none() && self.add(number, values).is_err() {
                return Err(FuzzMemoryError::Inputs);
            }
        }
        Ok(())
    }

    fn made(&self, input: &[i64]) -> Result<CampaignPlan<P>, String> {
        match self.space {
            Some(space) => Ok(CampaignPlan { program: space.program(input)?, ..self.plan.clone() }),
            None => Ok(self.plan.clone()),
        }
    }

    fn keep(&self, number: usize, plan: CampaignPlan<P>) -> Arc<InputProgram<P>> {
        let setup = plan.program.setup();
        let names = self.space.map(|_| self.names.lock().add(setup));
        let program = Arc::new(InputProgram { atomics: atomic_cells(setup), names, plan });
        let mut made = self.made.write();
        made.insert(number, program.clone());
        let cells = |program: &InputProgram<P>| program.plan.program.setup().cells.len();
        let mut all: usize = made.values().map(|program| cells(program)).sum();
        while made.len() > MOST_PROGRAMS || made.len() > 1 && all > MOST_CELLS {
            all -= made.shift_remove_index(0).map_or(0, |(_, program)| cells(&program));
        }
        program
    }

    /// Returns the program of an input that was added: its number and its values.
    ///
    /// # Panics
    ///
    /// Panics if the model cannot have these values, although it could when the input was added.
    pub(super) fn of(&self, number: usize, input: &[i64]) -> Arc<InputProgram<P>> {
        if let Some(program) = self.made.read().get(&number) {
            return program.clone();
        }
        let plan = self.made(input).unwrap_or_else(|why| panic!("an input that was made before: {why}"));
        self.keep(number, plan)
    }
}

/// Returns the number of an input, which is added if it is new. `None` if the model cannot have these values.
pub(super) fn known_input<P: Program>(
    programs: &Programs<'_, P>,
    learned: &mut Learned,
    values: Input,
) -> Option<usize> {
    if let Some((number, _, known)) = learned.inputs.get_full(&values) {
        return known.refused.is_none().then_some(number);
    }
    // A campaign of years has drawn them all long before.
    if learned.inputs.len() >= MOST_INPUTS {
        return None;
    }
    let refused = programs.add(learned.inputs.len(), &values).err();
    let is_possible = refused.is_none();
    let (number, _) = learned.inputs.insert_full(values, InputState { refused, ..InputState::default() });
    is_possible.then_some(number)
}

// Draws a value of a range.
fn value(rng: &mut Rng, range: &Range<i64>) -> i64 {
    if rng.below(ENDS) == 0 {
        return if rng.coin() { range.start } else { range.end - 1 };
    }
    let size = range.end.abs_diff(range.start);
    let unused = (size - 1).leading_zeros();
    loop {
        let bits = (0..4).fold(0, |bits, _| bits << 16 | u64::from(rng.below(1 << 16)));
        let drawn = bits.checked_shr(unused).unwrap_or(0);
        if drawn < size {
            return range.start.wrapping_add(drawn as i64);
        }
    }
}
