//! Checks what a class of elements needs of the things that its elements pick: that there is one for each element, and
//! that none is named.

use super::nodes::{Node, Nodes};
use super::{ThreadArray, head};
use crate::base::Id;
use crate::lang::ast::Span;
use crate::lang::program::{LocalId, Program, Type};
use crate::world::ElementRange;
use std::collections::BTreeMap;

/// Records breaches of the rules about ranges and names at the nodes of arrays of threads.
pub(super) fn check_ranges(program: &Program, arrays: &[ThreadArray], nodes: &mut Nodes) {
    let mut ranges: BTreeMap<usize, ElementRange> = BTreeMap::new();
    for array in arrays {
        let node = Node::Local(array.body, LocalId::new(0));
        let at = head(program, array.body);
        let root = nodes.root(node);
        let range = *ranges.entry(root).or_insert(array.range);
        if range != array.range {
            nodes.breach(node, at, "it has to do with another array of threads, whose indices are others");
        }
        let of_array = |thread: i64| (thread - i64::from(array.first)) < array.range.to - array.range.from;
        let named = |(thread, _): &&(i64, Span)| *thread >= i64::from(array.first) && of_array(*thread);
        if let Some((thread, at)) = nodes.named_threads.iter().find(named).copied() {
            let name = &program.threads[thread as usize].name;
            nodes.breach(node, at, format!("it names `{name}` alone"));
        }
    }
    for (node, root) in nodes.all() {
        let Some(range) = ranges.get(&root).copied() else { continue };
        let len = match node {
            Node::Dimension(global, number) => dimension(&program.globals[global].ty, number),
            Node::Locks { len, .. } | Node::Conditions { len, .. } => Some(len),
            _ => None,
        };
        if len.is_some_and(|len| range.from < 0 || i64::from(len) < range.to) {
            let at = arrays.iter().find(|a| a.range == range).map_or(Span::default(), |a| head(program, a.body));
            nodes.breach(node, at, "it is the index of an array that has no element for some of these threads");
        }
        let named = match node {
            Node::Locks { .. } => &nodes.named_locks,
            Node::Conditions { .. } => &nodes.named_conditions,
            _ => continue,
        };
        let (Node::Locks { first, len } | Node::Conditions { first, len }) = node else { continue };
        let of_array = |thing: &i64| (i64::from(first)..i64::from(first) + i64::from(len)).contains(thing);
        if let Some((_, at)) = named.iter().find(|(thing, _)| of_array(thing)).copied() {
            nodes.breach(node, at, "it names one element of an array that threads index by their own number");
        }
    }
    for (global, at) in std::mem::take(&mut nodes.half_indexed) {
        let mut number = 0;
        while dimension(&program.globals[global].ty, number).is_some() {
            nodes.breach(Node::Dimension(global, number), at, "a later index of the array is found by a step");
            number += 1;
        }
    }
    super::properties::check(program, &ranges, nodes);
    for (root, range) in ranges {
        let named = nodes.constants(root).iter().filter(|(value, _)| range.contains(*value)).min_by_key(|(_, at)| *at);
        if let Some((value, at)) = named.copied()
            && let Some(array) = arrays.iter().find(|a| nodes.root(Node::Local(a.body, LocalId::new(0))) == root)
        {
            let why = format!("the number {value} is the index of `{}[{value}]`", array.name);
            nodes.breach(Node::Local(array.body, LocalId::new(0)), at, why);
        }
    }
}

// Returns the length of a dimension of an array, if it has so many.
fn dimension(ty: &Type, number: usize) -> Option<u32> {
    match ty {
        Type::Array(_, len) if number == 0 => Some(*len),
        Type::Array(of, _) => dimension(of, number - 1),
        _ => None,
    }
}
