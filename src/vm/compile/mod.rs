//! Compiles a checked program to instructions.

mod alike;
mod channels;
mod control;
mod exprs;
mod makers;
mod messages;
mod places;
mod platform;
mod regs;
mod setup;
mod stmts;
mod timed;

pub(super) use alike::compile_alike;

use super::blame::{self, Blame, BlameList, Blames};
use super::code::{self, BodyCode, Code, Fragment};
use super::instr::{FragmentId, Instr, Reg, Visible};
use super::liveness;
use super::property_terms::PropertyTerms;
use crate::base::{Id, IndexVec};
use crate::event::{BodyId, NULL, SiteId};
use crate::lang::ast::When;
use crate::lang::program::{self, ExceptionId, LocalId, Type};
use crate::lang::{Alike, Program};
use crate::world::{REFERENCE_EXCEPTIONS, WordKind};
use control::Scope;
use regs::Registers;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The reason why a program cannot be compiled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CompileError {
    /// A part of the program exceeds a limit of the compiler.
    #[error(
        "the body of `{body}` is too large to compile (more than {limit} {what}); split it, or nest less in `finally`"
    )]
    TooLarge {
        /// The body that is too large.
        body: String,
        /// The counted things: instructions, registers or exception names.
        what: &'static str,
        /// Maximum number of these.
        limit: usize,
    },
}

// A `finally` block is compiled once for each exit, so nested ones could double the code at each level.
const MOST_INSTRUCTIONS: usize = 200_000;
// An exception in flight has 16 bits for its name.
const MOST_EXCEPTIONS: usize = 60_000;
const MOST_REGISTERS: usize = 30_000;

/// Compiles a checked program.
///
/// # Errors
///
/// Returns a [`CompileError`] if a part of the program exceeds a limit.
pub fn compile(program: &Program) -> Result<Code, CompileError> {
    let code = translate(program, true, None)?;
    // The marks of `transaction` blocks are no steps. The digest is that of the code without them, so that tokens of
    // versions without marks fit.
    if code.instrs.iter().any(|instr| matches!(instr, Instr::Transaction { .. })) {
        let digest = translate(program, false, None)?.digest();
        code.digest.get_or_init(|| digest);
    }
    Ok(code)
}

// Compiles a program, with or without the marks of `transaction` blocks.
fn translate(program: &Program, marks_blocks: bool, alike: Option<&Alike>) -> Result<Code, CompileError> {
    if program.exceptions.len() > MOST_EXCEPTIONS {
        let body = program.exceptions.last().cloned().unwrap_or_default();
        return Err(CompileError::TooLarge { body, what: "exception names", limit: MOST_EXCEPTIONS });
    }
    let blames = Blames::new(&program.source);
    let mut shared = ProgramTables { blames, marks_blocks, alike: alike.cloned(), ..ProgramTables::default() };
    let mut bodies: IndexVec<BodyId, BodyCode> = IndexVec::new();
    let mut setup = setup::setup(program);
    for (id, body) in program.bodies.enumerate() {
        let compiler = Compiler::new(program, id, &mut shared);
        bodies.push(match program.row_of(id) {
            Some(row) => compiler.row(body, row)?,
            None => compiler.body(body, false)?,
        });
        debug_assert_eq!(id.index() + 1, bodies.len());
    }
    let mut starts = Vec::new();
    let looper = bodies.add(Compiler::synthetic(program, &mut shared, true)?);
    setup.bodies.push("looper".to_owned());
    for thread in &program.threads {
        let body = match (thread.body, thread.looper) {
            (None, _) => looper,
            (Some(body), false) => body,
            (Some(body), true) => {
                setup.bodies.push(program.bodies[body].name.clone());
                bodies.add(Compiler::new(program, body, &mut shared).body(&program.bodies[body], true)?)
            }
        };
        starts.push((body, thread.arg));
    }
    let (mut always, mut at_end) = (Vec::new(), Vec::new());
    for property in &program.properties {
        let fragment = Compiler::synthetic_property(program, &mut shared, &property.expr)?;
        let to = if property.when == When::Always { &mut always } else { &mut at_end };
        to.push((property.name.clone(), fragment));
    }
    let always_hold = program.properties.iter().filter(|p| p.when == When::Always);
    let watched = Compiler::terms(program, &mut shared, always_hold.map(|p| &p.expr)).map(PropertyTerms::new);
    let mut conditions = IndexVec::new();
    if !program.components.is_empty() {
        for event in program.events.iter() {
            conditions.push(Compiler::row_condition(program, &mut shared, event)?);
        }
        makers::without_needless_requests(&mut shared.instrs, &bodies);
        makers::name_makers(&mut setup.platform, &shared.instrs, &bodies, &starts);
    }
    let ProgramTables { fragments, times, instrs, blamed, fragments_blamed, blames, .. } = shared;
    times.write_to(&mut setup);
    let references: Vec<Option<ExceptionId>> = (program.exceptions.iter().enumerate())
        .filter(|(_, name)| REFERENCE_EXCEPTIONS.contains(&name.as_str()))
        .map(|(id, _)| Some(ExceptionId::new(id)))
        .chain([None])
        .collect();
    let handlers = bodies.iter().flat_map(|body| &body.handlers);
    setup.catches_references = handlers.filter(|h| h.catches).any(|h| references.contains(&h.catch));
    setup.waits_park = instrs.iter().any(Instr::suspends_at_channel);
    Ok(Code {
        setup: Arc::new(setup),
        instrs,
        blamed,
        fragments_blamed,
        blames,
        bodies,
        starts,
        looper,
        init: program.init,
        fragments,
        conditions,
        always,
        at_end,
        watched,
        texts: program.texts.clone(),
        exceptions: program.exceptions.clone(),
        global_kinds: alike::global_kinds(program, alike),
        class_kinds: alike::class_kinds(program, alike),
        results: program
            .bodies
            .enumerate()
            .filter(|(_, b)| b.is_async())
            .map(|(id, b)| (id, kind(&b.result)))
            .collect(),
        digest: std::sync::OnceLock::new(),
    })
}

/// The tables that all bodies of a program add to.
#[derive(Default)]
struct ProgramTables {
    instrs: Vec<Instr>,
    fragments: Vec<Fragment>,
    times: setup::Times,
    blamed: BlameList,
    fragments_blamed: Vec<BlameList>,
    blames: Blames,
    /// Whether the code has the marks of `transaction` blocks.
    marks_blocks: bool,
    /// The threads that are alike, if the code is for a symmetric search.
    alike: Option<Alike>,
}

/// The state of the compilation of one body.
struct Compiler<'p> {
    program: &'p Program,
    shared: &'p mut ProgramTables,
    // The body that is compiled; `None` if it is none of the program.
    body: Option<BodyId>,
    name: &'p str,
    code: Vec<Instr>,
    blamed: BlameList,
    handlers: Vec<code::Handler>,
    regs: Registers,
    /// The first register and the number of cells of each local.
    locals: IndexVec<LocalId, (Reg, u16)>,
    scopes: Vec<Scope<'p>>,
    /// The registers of constants, by kind and value.
    constants: BTreeMap<(WordKind, i64), Reg>,
    /// Whether a condition or property is being compiled. Its reads are not steps.
    pure: bool,
    /// Whether the body of a row is being compiled, which ends the row.
    is_row: bool,
    /// Whether the body of an async task is being compiled. Its waits are suspension points.
    is_async: bool,
    /// Whether a large property is being compiled. Registers of a term are then freed after the term.
    thrifty: bool,
}

impl<'p> Compiler<'p> {
    fn new(program: &'p Program, id: BodyId, shared: &'p mut ProgramTables) -> Self {
        let body = &program.bodies[id];
        let mut regs = Registers::new(program.handles);
        let locals = body
            .locals
            .enumerate()
            .map(|(local, (_, ty))| {
                let class = shared.alike.as_ref().map(|alike| alike.local(id, local));
                let kinds = alike::kinds(ty, class);
                (regs.fixed(&kinds), kinds.len() as u16)
            })
            .collect();
        Self {
            program,
            shared,
            body: Some(id),
            name: &body.name,
            code: Vec::new(),
            blamed: Vec::new(),
            handlers: Vec::new(),
            regs,
            locals,
            scopes: Vec::new(),
            constants: BTreeMap::new(),
            pure: false,
            is_row: false,
            is_async: body.is_async(),
            thrifty: false,
        }
    }

    fn empty(program: &'p Program, name: &'p str, shared: &'p mut ProgramTables) -> Self {
        Self {
            program,
            shared,
            body: None,
            name,
            code: Vec::new(),
            blamed: Vec::new(),
            handlers: Vec::new(),
            regs: Registers::new(program.handles),
            locals: IndexVec::new(),
            scopes: Vec::new(),
            constants: BTreeMap::new(),
            pure: false,
            is_row: false,
            is_async: false,
            thrifty: false,
        }
    }

    fn body(mut self, body: &'p program::Body, looper: bool) -> Result<BodyCode, CompileError> {
        self.block(&body.block);
        // At the end of its block a looper continues with its loop.
        if looper {
            self.begin_loop(None);
        }
        self.emit(Instr::Return(None));
        self.finish(body.params as u16)
    }

    // Compiles the body of a row: its message serves a request, if the row needs one, and ends the row.
    fn row(mut self, body: &'p program::Body, row: &program::Row) -> Result<BodyCode, CompileError> {
        self.is_row = true;
        self.begin_row(row.by_request);
        self.block(&body.block);
        self.return_value(None);
        self.finish(body.params as u16)
    }

    // Compiles the condition of a row, over the registers of its body: the first one holds the instance.
    fn row_condition(
        program: &'p Program,
        shared: &'p mut ProgramTables,
        event: &'p program::EventDef,
    ) -> Result<Option<FragmentId>, CompileError> {
        let Some(when) = event.row.as_ref().and_then(|row| row.when.as_ref()) else { return Ok(None) };
        let mut c = Self::new(program, event.body, shared);
        let id = c.fragment(when);
        c.check_size()?;
        Ok(Some(id))
    }

    fn synthetic(program: &'p Program, shared: &'p mut ProgramTables, looper: bool) -> Result<BodyCode, CompileError> {
        let mut c = Self::empty(program, "looper", shared);
        if looper {
            c.begin_loop(None);
        }
        c.emit(Instr::Return(None));
        c.finish(0)
    }

    fn synthetic_property(
        program: &'p Program,
        shared: &'p mut ProgramTables,
        expr: &'p program::Expr,
    ) -> Result<FragmentId, CompileError> {
        let (fragments, blamed) = (shared.fragments.len(), shared.fragments_blamed.len());
        let mut c = Self::empty(program, "property", shared);
        let id = c.fragment(expr);
        if c.check_size().is_ok() {
            return Ok(id);
        }
        // A property with many terms fits if each term frees its registers. A smaller one is compiled without this, so
        // that its code and its digest stay the same as in older versions.
        c.shared.fragments.truncate(fragments);
        c.shared.fragments_blamed.truncate(blamed);
        (c.regs, c.thrifty) = (Registers::new(program.handles), true);
        let id = c.fragment(expr);
        c.check_size()?;
        Ok(id)
    }

    // Compiles each term of the properties (the operands of `&&`) separately. `None` if one does not fit.
    fn terms(
        program: &'p Program,
        shared: &'p mut ProgramTables,
        properties: impl Iterator<Item = &'p program::Expr>,
    ) -> Option<Vec<code::Fragment>> {
        let (fragments, blamed) = (shared.fragments.len(), shared.fragments_blamed.len());
        let mut c = Self::empty(program, "property", shared);
        let mut open: Vec<&program::Expr> = properties.collect();
        let mut fits = true;
        while let Some(expr) = open.pop() {
            if let program::ExprKind::And(left, right) = &expr.kind {
                open.extend([&**left, &**right]);
                continue;
            }
            (c.regs, c.constants) = (Registers::new(program.handles), BTreeMap::new());
            c.fragment(expr);
            fits &= c.check_size().is_ok();
        }
        let terms = c.shared.fragments.split_off(fragments);
        c.shared.fragments_blamed.truncate(blamed);
        fits.then_some(terms)
    }

    fn finish(self, params: u16) -> Result<BodyCode, CompileError> {
        self.check_size()?;
        self.check_constants()?;
        let mut live = liveness::live(&self.code, &self.handlers, self.regs.kinds.len(), &self.shared.fragments);
        let blank = |kind: &WordKind| if kind.is_plain() || *kind == WordKind::Place { 0 } else { NULL };
        let mut blank: Vec<i64> = self.regs.kinds.iter().map(blank).collect();
        for ((_, value), reg) in &self.constants {
            blank[usize::from(*reg)] = *value;
            // A constant has the same value in every state, so it is not live anywhere.
            live.iter_mut().for_each(|l| l[usize::from(*reg) / 64] &= !(1 << (reg % 64)));
        }
        let entry = self.shared.instrs.len() as u32;
        self.shared.blamed.extend(blame::moved(self.blamed, entry));
        self.shared.instrs.extend(self.code.into_iter().map(|instr| instr.moved(entry)));
        let moved =
            |h: code::Handler| code::Handler { from: h.from + entry, to: h.to + entry, target: h.target + entry, ..h };
        let handlers = self.handlers.into_iter().map(moved).collect();
        Ok(BodyCode { entry, params, kinds: self.regs.kinds, blank, handlers, live })
    }

    fn check_size(&self) -> Result<(), CompileError> {
        let too_large = |what, limit| Err(CompileError::TooLarge { body: self.name.to_owned(), what, limit });
        if self.code.len() > MOST_INSTRUCTIONS {
            return too_large("instructions", MOST_INSTRUCTIONS);
        }
        if self.regs.kinds.len() > MOST_REGISTERS || self.regs.overflowed {
            return too_large("registers", MOST_REGISTERS);
        }
        Ok(())
    }

    /// Appends an instruction and returns its index. Past the limit it drops the instruction: the body will be refused.
    fn emit(&mut self, instr: Instr) -> u32 {
        let at = self.code.len() as u32;
        if self.code.len() <= MOST_INSTRUCTIONS {
            self.code.push(instr);
        }
        at
    }

    /// Records the expressions that the last instruction may throw for.
    fn blame(&mut self, blame: Blame) {
        let at = self.here().saturating_sub(1);
        debug_assert!(self.code.last().is_none_or(Instr::may_throw), "it is the last instruction that may throw");
        let id = self.shared.blames.add(blame);
        match self.blamed.last_mut() {
            // Past the limit, instructions are dropped, and every blame has the index of the last one.
            Some((last, known)) if *last == at => *known = id,
            _ => self.blamed.push((at, id)),
        }
    }

    fn here(&self) -> u32 {
        self.code.len() as u32
    }

    /// Sets the target of the jump at index `at` to the next instruction.
    fn land(&mut self, at: u32) {
        let here = self.here();
        if let Some(instr) = self.code.get_mut(at as usize) {
            match instr {
                Instr::Jump(to) | Instr::JumpIf { to, .. } | Instr::JumpUnless { to, .. } => *to = here,
                Instr::Visible { op, .. } => match op.exit_mut() {
                    Some(exit) => *exit = here,
                    None => debug_assert!(false, "not a jump: {op:?}"),
                },
                other => debug_assert!(false, "not a jump: {other:?}"),
            }
        }
    }

    fn visible(&mut self, op: Visible, kind: WordKind, site: impl Into<Option<SiteId>>) -> Reg {
        let dst = self.regs.temp(kind);
        self.emit(Instr::Visible { op, dst, site: site.into() });
        dst
    }

    fn begin_loop(&mut self, site: Option<SiteId>) {
        self.visible(Visible::Begin, WordKind::Word, site);
    }

    /// Compiles a condition, which takes no steps, over the registers of this body.
    fn fragment(&mut self, expr: &'p program::Expr) -> FragmentId {
        let code = std::mem::take(&mut self.code);
        let blamed = std::mem::take(&mut self.blamed);
        let pure = std::mem::replace(&mut self.pure, true);
        let result = self.expr(expr);
        let fragment =
            Fragment { code: std::mem::replace(&mut self.code, code), result, regs: self.regs.kinds.len() as u16 };
        self.pure = pure;
        self.shared.fragments_blamed.push(std::mem::replace(&mut self.blamed, blamed));
        self.shared.fragments.push(fragment);
        self.shared.fragments.len() as FragmentId - 1
    }
}

/// Returns the kind of the register that a value of a one-word type takes.
fn kind(ty: &Type) -> WordKind {
    setup::cell_kinds(ty).first().copied().unwrap_or(WordKind::Word)
}
