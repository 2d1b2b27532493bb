//! Reads a file of further orders of the operations of a trace: the `dependence.txt` that DroidRacer writes beside a
//! trace for EM-Explorer. A line `src:21 dest:27` says that line 21 of the trace is before line 27 in every run.

use super::lines::Lines;
use super::{LineError, ReadError};
use crate::base::Id;
use crate::trace::{OpNo, Trace};
use std::io::BufRead;

const FORM: &str = "write `src:21 dest:27` for line 21 of the trace before line 27, one order on each line";

/// Reads orders of operations of a trace. `name` is used in messages.
///
/// A line of the trace that is no operation (`NOP`, `TRIGGER-..`) stands for the operations of its thread around it:
/// as an earlier line for the last one before it, as a later line for the first one behind it.
///
/// # Errors
///
/// If the text cannot be read or is of another form, or if it names a line that the trace does not have, or two lines
/// in the other order.
pub fn read_orders(name: &str, text: impl BufRead, trace: &Trace) -> Result<Vec<(OpNo, OpNo)>, ReadError> {
    let mut lines = Lines::new(name, text);
    let mut orders = Vec::new();
    while lines.advance()? {
        let text = lines.text().trim();
        if !text.is_empty() {
            orders.extend(order(text, trace).map_err(|reason| lines.error(LineError::new(0, reason, FORM)))?);
        }
    }
    Ok(orders)
}

// Returns the order that a line gives; `None` if one of the lines has no operation on its side.
fn order(text: &str, trace: &Trace) -> Result<Option<(OpNo, OpNo)>, String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let number = |field: Option<&&str>, key: &str| -> Option<u32> { field?.strip_prefix(key)?.parse().ok() };
    let (Some(from), Some(to), 2) = (number(fields.first(), "src:"), number(fields.get(1), "dest:"), fields.len())
    else {
        return Err("the line is not an order of two lines".to_owned());
    };
    if from == 0 {
        return Err("lines are counted from 1".to_owned());
    }
    if from >= to {
        return Err(format!("line {from} is not before line {to}"));
    }
    let ops = || trace.lines.iter().enumerate();
    let on = |line: u32| ops().filter(move |(_, at)| **at == line).map(|(op, _)| op);
    let of_thread = |line: u32| {
        let silent = trace.silent.iter().find(|(at, _)| *at == line);
        let (_, thread) = silent.ok_or_else(|| format!("line {line} of the trace is no operation of a thread"))?;
        Ok::<_, String>(ops().filter(move |(op, _)| trace.ops[OpNo::new(*op)].thread == *thread))
    };
    let first = match on(from).next_back() {
        Some(op) => Some(op),
        None => of_thread(from)?.rfind(|(_, at)| **at < from).map(|(op, _)| op),
    };
    let second = match on(to).next() {
        Some(op) => Some(op),
        None => of_thread(to)?.find(|(_, at)| **at > to).map(|(op, _)| op),
    };
    Ok(first.zip(second).map(|(first, second)| (OpNo::new(first), OpNo::new(second))))
}
