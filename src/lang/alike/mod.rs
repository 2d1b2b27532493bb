//! Finds the threads that a program treats alike, so that a search may rename them: those of one array
//! (`thread worker(i in 0..N)`) whose text uses the index as an element of a scalarset.
//!
//! The rules are those of Ip and Dill (*Better verification through symmetry*, 1996): an element is only compared with
//! other elements for equality, picks its own element of an array, is stored or passed on, or is dead. No element is
//! named by a constant, none is the result of arithmetic, and elements have no order. Here nothing is declared: the
//! classes follow from the text. Each variable, parameter, field and array index is a node; where a value flows from
//! one to the other, or both are compared, they are one ([`nodes`]). A node at which a rule is broken is no element,
//! with the place and the reason.
//!
//! - The first state need not be the same for all elements, because only steps are renamed. So initial values and
//!   `init` may name elements.
//! - A constant outside of the range is no element, and may be compared with elements: `var turn = -1`.
//! - Loopers, objects that are made, forked threads, lists and the like are no part of it: a program with them is
//!   refused as a whole.

mod nodes;
mod places;
mod properties;
mod walk;

use super::ast::Span;
use super::diagnostic::Diagnostic;
use super::program::{ClassId, Expr, ExprKind, GlobalId, LocalId, MemoryPlace, Program, Root, Type};
use crate::base::Id;
use crate::event::BodyId;
use crate::world::{CellArray, CellDimension, ElementRange, Symmetry, ThingArray};
use nodes::{Node, Nodes};
use std::collections::BTreeMap;

/// The threads of a program that are alike, and the reasons why others are not.
#[derive(Clone, Default, Debug)]
pub struct Alike {
    /// The classes of elements, and the things whose index is one. Without classes no threads are alike.
    pub symmetry: Symmetry,
    /// The names of the arrays of threads that are alike, each with the number of its threads.
    pub threads: Vec<(String, usize)>,
    /// Why threads of an array are not alike, in source order.
    pub refused: Vec<Diagnostic>,
    // The class of each node whose values are elements.
    classes: BTreeMap<Node, u16>,
}

/// An array of threads: `thread worker(i in from..to)`.
pub(super) struct ThreadArray {
    name: String,
    first: u32,
    range: ElementRange,
    body: BodyId,
}

impl Alike {
    /// Finds the threads that a program treats alike.
    #[must_use]
    pub fn of(program: &Program) -> Self {
        let arrays = thread_arrays(program);
        let mut nodes = Nodes::default();
        walk::walk(program, &arrays, &mut nodes);
        let refused = nodes.refusals.iter().min_by_key(|(at, _)| *at);
        if let Some((at, why)) = refused.filter(|_| !arrays.is_empty()) {
            let message = "the threads of this model cannot be renamed".to_owned();
            return Self { refused: vec![Diagnostic::new(*at, message, why.clone())], ..Self::default() };
        }
        Self::solve(program, &arrays, nodes)
    }

    fn solve(program: &Program, arrays: &[ThreadArray], mut nodes: Nodes) -> Self {
        places::check_ranges(program, arrays, &mut nodes);
        let mut alike = Self::default();
        let mut of_root: BTreeMap<usize, u16> = BTreeMap::new();
        for array in arrays.iter().filter(|array| array.range.count() > 1) {
            let root = nodes.root(Node::Local(array.body, LocalId::new(0)));
            if let Some((at, why)) = nodes.broken(root) {
                let threads = format!("`{0}[{1}]` to `{0}[{2}]`", array.name, array.range.from, array.range.to - 1);
                let message = format!("the threads {threads} are not alike");
                let declared = head(program, array.body);
                alike.refused.push(Diagnostic::new(at, message, why).note(declared, "declared here"));
                continue;
            }
            let class = *of_root.entry(root).or_insert_with(|| {
                alike.symmetry.classes.push(array.range);
                (alike.symmetry.classes.len() - 1) as u16
            });
            alike.symmetry.threads.push(ThingArray { first: array.first, class });
            alike.threads.push((array.name.clone(), array.range.count()));
        }
        for (node, root) in nodes.all() {
            if let Some(class) = of_root.get(&root) {
                alike.classes.insert(node, *class);
            }
        }
        alike.things(program);
        alike
    }

    // Collects the arrays of cells, locks and conditions with an index that is an element.
    fn things(&mut self, program: &Program) {
        for (id, global) in program.globals.enumerate() {
            let (mut dimensions, mut ty, mut stride) = (Vec::new(), &global.ty, global.cells);
            while let Type::Array(of, len) = ty {
                stride /= (*len).max(1);
                let class = self.classes.get(&Node::Dimension(id, dimensions.len())).copied();
                dimensions.push(CellDimension { len: *len, stride, class });
                ty = of;
            }
            if dimensions.iter().any(|d| d.class.is_some()) {
                self.symmetry.cells.push(CellArray { first: global.offset, dimensions });
            }
        }
        for (node, class) in &self.classes {
            match *node {
                Node::Locks { first, .. } => self.symmetry.locks.push(ThingArray { first, class: *class }),
                Node::Conditions { first, .. } => {
                    self.symmetry.conditions.push(ThingArray { first, class: *class });
                }
                _ => {}
            }
        }
    }

    /// Returns the class of the elements in a local, or in each element of a local array. `None` if they are no
    /// elements.
    #[must_use]
    pub fn local(&self, body: BodyId, local: LocalId) -> Option<u16> {
        self.classes.get(&Node::Local(body, local)).copied()
    }

    /// Returns the class of the elements in a global.
    #[must_use]
    pub fn global(&self, global: GlobalId) -> Option<u16> {
        self.classes.get(&Node::Value(global)).copied()
    }

    /// Returns the class of the elements in a field.
    #[must_use]
    pub fn field(&self, class: ClassId, field: u32) -> Option<u16> {
        self.classes.get(&Node::Field(class, field)).copied()
    }

    /// Returns the class of the elements at a place.
    #[must_use]
    pub fn place(&self, place: &MemoryPlace) -> Option<u16> {
        match &place.root {
            Root::Global(global) => self.global(*global),
            Root::Field { class, field, .. } => self.field(*class, *field),
        }
    }

    /// Returns the class of the elements that are the value of an expression of a body.
    #[must_use]
    pub fn expr(&self, body: Option<BodyId>, e: &Expr) -> Option<u16> {
        match &e.kind {
            ExprKind::Local(local) | ExprKind::LocalElement { local, .. } => self.local(body?, *local),
            ExprKind::Read { place, .. } | ExprKind::Exchange { place, .. } => self.place(place),
            ExprKind::Call { body, .. } => self.classes.get(&Node::Result(*body)).copied(),
            _ => None,
        }
    }
}

/// Returns the span of the first line of a body, without its brace.
pub(super) fn head(program: &Program, body: BodyId) -> Span {
    let span = program.bodies[body].span;
    let text = program.source.get(span.start as usize..span.end as usize).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let head = line.split('{').next().unwrap_or_default().trim_end();
    Span { start: span.start, end: span.start + head.len() as u32 }
}

// Finds the arrays of threads: neighbours with one body and consecutive arguments.
fn thread_arrays(program: &Program) -> Vec<ThreadArray> {
    let mut arrays: Vec<ThreadArray> = Vec::new();
    for (number, thread) in program.threads.iter().enumerate() {
        let (Some(body), Some(arg)) = (thread.body, thread.arg) else { continue };
        match arrays.last_mut() {
            Some(last) if last.body == body && last.range.to == arg => last.range.to += 1,
            _ => {
                let name = thread.name.split('[').next().unwrap_or_default().to_owned();
                let range = ElementRange { from: arg, to: arg + 1 };
                arrays.push(ThreadArray { name, first: number as u32, range, body });
            }
        }
    }
    arrays
}

/// Where a rule is broken, and the reason.
pub(super) type Breach = (Span, String);
