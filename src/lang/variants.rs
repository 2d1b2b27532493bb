//! Finds the variants of a model that its expectations name: `expect .. if FIXED == 1` is about the variant with
//! `FIXED` = 1.
//!
//! For each constant in a condition these values are used: its own value, every value that it is compared with by `==`,
//! and, for each other comparison that none of these values makes true, the nearest value that does. The variants are
//! all combinations of these values. A comparison has a constant on one side and a number or another constant on the
//! other side.
//!
//! A constant with a declared range (`const N in 1..4 = 2`) stands for inputs, and the lines hold for all of them. All
//! values of a small range are used, and of a larger one its ends and the constant's own value.

use super::Program;
use super::ast::{BinaryOp, Expr, ExprKind, File, Item, ItemKind, UnaryOp};
use super::library::settings;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The largest number of combinations that are tested at once.
pub const MOST_VARIANTS: usize = 256;

/// The largest number of values of a range that are all tested.
const MOST_VALUES: u64 = 4;

/// The error that the conditions give more than [`MOST_VARIANTS`] combinations.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the conditions of its `expect` lines name {0} variants, more than {MOST_VARIANTS}: fix a constant with -D")]
pub struct TooManyVariants(pub usize);

/// Values of constants, by name.
pub type Defines = Vec<(String, i64)>;

/// Returns the names of the constants of a model, with those of the libraries that it uses (`android.rounds`).
pub fn constants(file: &File) -> BTreeSet<String> {
    let of = |item: &Item| match &item.kind {
        ItemKind::Const { name, .. } => vec![name.text.clone()],
        ItemKind::Use { library, .. } => settings(&library.text),
        _ => Vec::new(),
    };
    file.items.iter().flat_map(of).collect()
}

/// Returns the constants of a checked model that are declared with a range of values, each with its range, in source
/// order. A value that is given with `-D` has to be in the range.
///
/// # Examples
///
/// ```
/// use raceflip::lang::{Source, check, parse, variants::ranges};
///
/// let source = Source::new("a.race", "const N in 1..4 = 2\nconst M = 7\nthread t { skip }")?;
/// let program = check(&parse(&source).unwrap(), &source, &[])?;
/// assert_eq!(ranges(&program), [("N".to_owned(), 1..4)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn ranges(program: &Program) -> &[(String, Range<i64>)] {
    &program.ranges
}

/// Returns all variants, each with a value for every constant that a condition names or that is in `given`. `program`
/// is the model checked with `given` alone.
///
/// # Errors
///
/// Returns [`TooManyVariants`] if the conditions of the file name more variants than a test can perform.
///
/// # Examples
///
/// ```
/// use raceflip::lang::{Source, check, parse, variants::variants};
///
/// let text = "const FIXED = 0\nthread t { skip }\nexpect no failure if FIXED == 1";
/// let source = Source::new("a.race", text)?;
/// let tree = parse(&source).unwrap();
/// let program = check(&tree, &source, &[])?;
/// let all = variants(&tree, &program, &Vec::new())?;
/// assert_eq!(all, [[("FIXED".to_owned(), 0)], [("FIXED".to_owned(), 1)]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn variants(file: &File, program: &Program, given: &Defines) -> Result<Vec<Defines>, TooManyVariants> {
    let own: BTreeMap<&str, i64> = program.consts.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let mut comparisons = Vec::new();
    for item in &file.items {
        if let ItemKind::Expect { condition: Some(condition), .. } = &item.kind {
            compared(condition, &own, &mut comparisons);
        }
    }
    let mut values: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
    // First the values of the constants themselves and of `==`. Only then is it known which other comparisons none of
    // these makes true.
    for c in &comparisons {
        let all = values.entry(c.name).or_default();
        all.insert(own[c.name]);
        if c.op == BinaryOp::Eq {
            all.insert(c.with);
        }
    }
    for c in &comparisons {
        let all = values.entry(c.name).or_default();
        if !all.iter().any(|value| c.holds(*value)) {
            all.extend(c.nearest());
        }
    }
    // No variant has a value outside of the range of its constant.
    for (name, range) in &program.ranges {
        if let Some(all) = values.get_mut(name.as_str()) {
            all.retain(|value| range.contains(value));
        }
    }
    for (name, value) in given {
        values.insert(name, BTreeSet::from([*value]));
    }
    let with_inputs = |varied: &dyn Fn(&str) -> bool| {
        let mut values = values.clone();
        for (name, range) in open_ranges(program, given) {
            let all = values.entry(name).or_default();
            all.insert(own[name.as_str()]);
            if varied(name) {
                all.extend(sample(range));
            }
        }
        values
    };
    let (all, number) = (with_inputs(&|_| true), number(&values));
    if number > MOST_VARIANTS {
        return Err(TooManyVariants(number));
    }
    if self::number(&all) <= MOST_VARIANTS {
        return Ok(combined(&all));
    }
    // Too many inputs: one constant is varied at a time, as long as there is room.
    let mut variants = combined(&with_inputs(&|_| false));
    for (varied, _) in &program.ranges {
        let more = with_inputs(&|name| name == varied);
        if variants.len() + self::number(&more) > MOST_VARIANTS {
            break;
        }
        let known: BTreeSet<Defines> = variants.iter().cloned().collect();
        variants.extend(combined(&more).into_iter().filter(|variant| !known.contains(variant)));
    }
    Ok(variants)
}

// Returns the values of a range that are tested, besides the constant's own one.
fn sample(range: &Range<i64>) -> Vec<i64> {
    if range.end.abs_diff(range.start) <= MOST_VALUES {
        range.clone().collect()
    } else {
        vec![range.start, range.end - 1]
    }
}

// Returns the number of combinations.
fn number(values: &BTreeMap<&str, BTreeSet<i64>>) -> usize {
    values.values().fold(1, |n: usize, all| n.saturating_mul(all.len()))
}

// Returns all combinations.
fn combined(values: &BTreeMap<&str, BTreeSet<i64>>) -> Vec<Defines> {
    let mut variants = vec![Defines::new()];
    for (name, all) in values {
        let longer = |v: &Defines| {
            all.iter().map(|value| [&v[..], &[((*name).to_owned(), *value)]].concat()).collect::<Vec<_>>()
        };
        variants = variants.iter().flat_map(longer).collect();
    }
    variants
}

/// Inputs of a model among its variants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InputCount {
    /// Number of different inputs among the variants.
    pub tested: u64,
    /// Number of inputs that there are; at most `u64::MAX`.
    pub possible: u64,
}

/// Returns how many inputs these variants have: values of the constants that are declared with a range and that are not
/// in `given`. `None` if there is no such constant.
#[must_use]
pub fn inputs(program: &Program, given: &Defines, variants: &[Defines]) -> Option<InputCount> {
    let open = || open_ranges(program, given);
    let names: BTreeSet<&str> = open().map(|(name, _)| name.as_str()).collect();
    let input = |defines: &Defines| -> Defines {
        defines.iter().filter(|(name, _)| names.contains(name.as_str())).cloned().collect()
    };
    let tested = variants.iter().map(input).collect::<BTreeSet<_>>().len() as u64;
    (!names.is_empty()).then(|| InputCount { tested, possible: possible_inputs(open()) })
}

/// Returns the constants that are declared with a range and that are not in `given`.
pub fn open_ranges<'p>(program: &'p Program, given: &Defines) -> impl Iterator<Item = &'p (String, Range<i64>)> {
    program.ranges.iter().filter(|(name, _)| given.iter().all(|(known, _)| known != name))
}

/// Returns the number of inputs that these ranges allow; at most `u64::MAX`.
#[must_use]
pub fn possible_inputs<'r>(ranges: impl IntoIterator<Item = &'r (String, Range<i64>)>) -> u64 {
    ranges.into_iter().fold(1, |all, (_, range)| all.saturating_mul(range.end.abs_diff(range.start)))
}

/// A comparison `NAME op value`
struct Comparison<'f> {
    name: &'f str,
    op: BinaryOp,
    with: i64,
}

impl Comparison<'_> {
    fn holds(&self, value: i64) -> bool {
        match self.op {
            BinaryOp::Eq => value == self.with,
            BinaryOp::Ne => value != self.with,
            BinaryOp::Lt => value < self.with,
            BinaryOp::Le => value <= self.with,
            BinaryOp::Gt => value > self.with,
            _ => value >= self.with,
        }
    }

    // The value nearest to `with` that makes the comparison true. For `!= 1` it is 0, the other truth value.
    fn nearest(&self) -> Option<i64> {
        match self.op {
            BinaryOp::Ne if self.with == 1 => Some(0),
            BinaryOp::Ne | BinaryOp::Gt => self.with.checked_add(1),
            BinaryOp::Lt => self.with.checked_sub(1),
            _ => Some(self.with),
        }
    }
}

// Collects the comparisons of a constant with a value in a condition.
fn compared<'f>(condition: &'f Expr, own: &BTreeMap<&str, i64>, into: &mut Vec<Comparison<'f>>) {
    let mut open = vec![(condition, true)];
    while let Some((e, truth)) = open.pop() {
        match &e.kind {
            ExprKind::Name(name) if own.contains_key(name.as_str()) => {
                into.push(Comparison { name, op: BinaryOp::Eq, with: i64::from(truth) });
            }
            ExprKind::Unary { op: UnaryOp::Not, operand } => open.push((operand, !truth)),
            ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or, left, right } => {
                open.extend([(&**right, truth), (&**left, truth)]);
            }
            ExprKind::Binary { op, left, right } => {
                let Some(op) = implied_operator(*op, truth) else { continue };
                for (name, op, with) in [(left, op, right), (right, mirrored(op), left)] {
                    if let (ExprKind::Name(name), Some(with)) = (&name.kind, value(with, own))
                        && own.contains_key(name.as_str())
                    {
                        into.push(Comparison { name, op, with });
                    }
                }
            }
            _ => {}
        }
    }
}

// The operator of a comparison, or of its negation if `truth` is false.
fn implied_operator(op: BinaryOp, truth: bool) -> Option<BinaryOp> {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
    let denied = match op {
        Eq => Ne,
        Ne => Eq,
        Lt => Ge,
        Ge => Lt,
        Gt => Le,
        Le => Gt,
        _ => return None,
    };
    Some(if truth { op } else { denied })
}

// The operator of a comparison whose sides are exchanged.
fn mirrored(op: BinaryOp) -> BinaryOp {
    use BinaryOp::{Ge, Gt, Le, Lt};
    match op {
        Lt => Gt,
        Gt => Lt,
        Le => Ge,
        Ge => Le,
        same => same,
    }
}

fn value(e: &Expr, own: &BTreeMap<&str, i64>) -> Option<i64> {
    match &e.kind {
        ExprKind::Int(value) => Some(*value),
        ExprKind::Bool(value) => Some(i64::from(*value)),
        ExprKind::Name(name) => own.get(name.as_str()).copied(),
        ExprKind::Unary { op: UnaryOp::Neg, operand } => value(operand, own)?.checked_neg(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::{Source, check, parse};

    fn check_variants(text: &str, given: &[(&str, i64)], expected: &[&str]) {
        let source = Source::new("m.race", text).unwrap();
        let file = parse(&source).unwrap();
        let given: Defines = given.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        let program = check(&file, &source, &given).unwrap();
        let one = |v: &Defines| v.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(" ");
        let found: Vec<String> = variants(&file, &program, &given).unwrap().iter().map(one).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn many_inputs_are_varied_one_constant_at_a_time() {
        let text: String = (0..6).map(|i| format!("const C{i} in 0..9 = 4\n")).collect();
        let source = Source::new("inputs.race", &(text + "thread t { skip }")).unwrap();
        let file = parse(&source).unwrap();
        let program = check(&file, &source, &[]).unwrap();
        let all = variants(&file, &program, &Defines::new()).unwrap();
        // The model's own values, and the two ends of each range.
        assert_eq!(all.len(), 1 + 6 * 2);
        let differs = |defines: &Defines| defines.iter().filter(|(_, value)| *value != 4).count();
        assert!(all.iter().all(|defines| differs(defines) <= 1));
        let given = vec![("C0".to_owned(), 3)];
        let count = |given: &Defines| inputs(&program, given, &all).unwrap();
        assert_eq!(count(&Defines::new()), InputCount { tested: 13, possible: 9u64.pow(6) });
        assert_eq!(count(&given).possible, 9u64.pow(5));
    }

    #[test]
    fn variants_are_those_that_conditions_speak_of() {
        let two = "const F = 0\nconst N = 20\n";
        let lines = |conditions: &[&str]| {
            conditions.iter().fold(two.to_owned(), |text, c| format!("{text}expect outcomes: ok if {c}\n"))
        };
        check_variants(two, &[], &[""]);
        check_variants(&lines(&["F == 0"]), &[], &["F=0"]);
        check_variants(&lines(&["F == 0", "F == 1"]), &[], &["F=0", "F=1"]);
        check_variants(&lines(&["F == 0", "F != 0"]), &[], &["F=0", "F=1"]);
        check_variants(&lines(&["F == 2", "F != 1"]), &[], &["F=0", "F=2"]);
        check_variants(&lines(&["N <= 4"]), &[], &["N=4", "N=20"]);
        check_variants(&lines(&["!(4 < N)"]), &[], &["N=4", "N=20"]);
        check_variants(&lines(&["N < 50"]), &[], &["N=20"]);
        check_variants(&lines(&["F == 1 && N == 3"]), &[], &["F=0 N=3", "F=0 N=20", "F=1 N=3", "F=1 N=20"]);
        check_variants(&lines(&["F == 1 && N == 3"]), &[("N", 7)], &["F=0 N=7", "F=1 N=7"]);
        check_variants(&lines(&["N == F"]), &[], &["F=0 N=0", "F=0 N=20", "F=20 N=0", "F=20 N=20"]);
        let ranged =
            "const N in 0..10 = 2\nexpect outcomes: ok if N > 5\nexpect outcomes: ok if N != 20 && N < 99 || N > 99";
        check_variants(ranged, &[], &["N=0", "N=2", "N=6", "N=9"]);
        check_variants(ranged, &[("N", 4)], &["N=4"]);
        // Inputs without a condition.
        check_variants("const N in 1..4 = 2\nconst M = 7\n", &[], &["N=1", "N=2", "N=3"]);
        check_variants("const N in 1..9 = 2\nconst M in 0..2 = 1\n", &[("M", 0)], &["M=0 N=1", "M=0 N=2", "M=0 N=8"]);
        check_variants(
            "const OK = false\nexpect outcomes: ok if OK\nexpect outcomes: ok if !OK\n",
            &[],
            &["OK=0", "OK=1"],
        );
    }
}
