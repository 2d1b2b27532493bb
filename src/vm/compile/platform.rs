//! Compiles kind text: expressions and statements about platform memory, verbs, and the bodies of rows.

use super::super::blame::Blame;
use super::super::instr::{Instr, PlatformInstr, Reg, Visible};
use super::{Compiler, kind};
use crate::event::{ComponentId, SiteId};
use crate::lang::program::{Expr, LocalId, NO_SITE, PlatformExpr, PlatformStmt, Stmt, Type};
use crate::world::WordKind;

impl<'p> Compiler<'p> {
    fn platform(&mut self, what: PlatformInstr, kind: WordKind, site: SiteId) -> Reg {
        let dst = self.regs.temp(kind);
        self.emit(Instr::Platform { what, dst, site });
        dst
    }

    // Emits an instruction on an instance, which may be null.
    fn of_instance(&mut self, what: PlatformInstr, instance: &'p Expr, ty: &Type, site: SiteId) -> Reg {
        let value = self.platform(what, kind(ty), site);
        self.blame(Blame::of(instance.at));
        value
    }

    pub(super) fn platform_expr(&mut self, e: &'p PlatformExpr, ty: &Type) -> Reg {
        match e {
            PlatformExpr::State(state) => self.platform(PlatformInstr::State(*state), kind(ty), NO_SITE),
            PlatformExpr::Field { instance, field, site } => {
                let of = self.expr(instance);
                self.of_instance(PlatformInstr::Field { instance: of, field: *field }, instance, ty, *site)
            }
            PlatformExpr::Stage { instance, site } => {
                let of = self.expr(instance);
                self.of_instance(PlatformInstr::Stage(of), instance, ty, *site)
            }
            PlatformExpr::Parameter { instance, index, site } => {
                let of = self.expr(instance);
                self.of_instance(PlatformInstr::Parameter { instance: of, index: *index }, instance, ty, *site)
            }
            PlatformExpr::Some { kind, stages, than } => {
                let than = self.expr(than);
                self.platform(PlatformInstr::Some { kind: *kind, stages: *stages, than }, WordKind::Word, NO_SITE)
            }
            PlatformExpr::Asked { instance, row, site } => {
                let of = self.expr(instance);
                self.of_instance(PlatformInstr::Asked { instance: of, row: *row }, instance, ty, *site)
            }
            PlatformExpr::Ask { instance, row, args, site } => {
                let values: Vec<Reg> = std::iter::once(&**instance).chain(args).map(|e| self.expr(e)).collect();
                let kinds = std::iter::once(WordKind::Object).chain(args.iter().map(|e| kind(&e.ty))).collect();
                let args = self.gather(&values, kinds);
                self.of_instance(PlatformInstr::Ask { row: *row, args }, instance, ty, *site)
            }
            PlatformExpr::Make { component, args } => {
                let args = self.args(args);
                self.platform(PlatformInstr::Make { component: *component, args }, WordKind::Object, NO_SITE)
            }
            PlatformExpr::Again { instance, site } => {
                let of = self.expr(instance);
                self.of_instance(PlatformInstr::Again(of), instance, ty, *site)
            }
            PlatformExpr::Single { component } => {
                self.platform(PlatformInstr::Single(*component), WordKind::Object, NO_SITE)
            }
            PlatformExpr::Verb { body, args: of, receiver, site } => {
                let args = self.args(of);
                if let (true, Some(first)) = (receiver, of.first()) {
                    self.of_instance(PlatformInstr::Check(args.first), first, &Type::Int, *site);
                }
                // `without_needless_requests` removes this step where the body begins with another one.
                self.visible(Visible::Request, WordKind::Word, *site);
                let dst = self.regs.temp(kind(ty));
                self.emit(Instr::Call { body: *body, args, dst, site: *site });
                dst
            }
        }
    }

    pub(super) fn platform_stmt(&mut self, stmt: &'p PlatformStmt) {
        match stmt {
            PlatformStmt::SetState { state, value } => {
                let src = self.expr(value);
                self.platform(PlatformInstr::SetState(*state, src), WordKind::Word, NO_SITE);
            }
            PlatformStmt::SetField { instance, field, value, site } => {
                let (of, src) = (self.expr(instance), self.expr(value));
                let what = PlatformInstr::SetField { instance: of, field: *field, src };
                self.of_instance(what, instance, &Type::Int, *site);
            }
            PlatformStmt::SetStage { instance, stage, site } => {
                let of = self.expr(instance);
                let what = PlatformInstr::SetStage { instance: of, stage: *stage };
                self.of_instance(what, instance, &Type::Int, *site);
            }
            PlatformStmt::Withdraw { request, exception, site } => {
                let of = self.expr(request);
                let what = PlatformInstr::Withdraw { request: of, exception: *exception };
                self.of_instance(what, request, &Type::Int, *site);
            }
            PlatformStmt::ForInstances { local, component, body } => self.for_instances(*local, *component, body),
        }
    }

    fn for_instances(&mut self, local: LocalId, component: ComponentId, body: &'p [Stmt]) {
        // The number is read once, so that instances that the body makes are left out.
        let end = self.platform(PlatformInstr::Count(component), WordKind::Word, NO_SITE);
        let (counter, index) = (self.regs.temp(WordKind::Word), self.regs.temp(WordKind::Word));
        self.emit(Instr::Const { dst: counter, value: 0 });
        let test = self.emit(Instr::Jump(0));
        let start = self.here();
        self.enter_loop(None);
        let dst = self.locals[local].0;
        self.emit(Instr::Platform { what: PlatformInstr::Nth { component, index }, dst, site: NO_SITE });
        self.block(body);
        self.continue_here();
        self.land(test);
        self.emit(Instr::ForNext { counter, end, local: index, body: start });
        self.exit_loop();
    }

    /// Begins the body of a row. A message whose request has been withdrawn does nothing.
    pub(super) fn begin_row(&mut self, by_request: bool) {
        if !by_request {
            return;
        }
        let goes_on = self.platform(PlatformInstr::BeginRow, WordKind::Word, NO_SITE);
        let begin = self.emit(Instr::JumpIf { cond: goes_on, to: 0 });
        self.end_row(false);
        self.emit(Instr::Return(None));
        self.land(begin);
    }

    /// Ends the body of a row.
    pub(super) fn end_row(&mut self, done: bool) {
        self.platform(PlatformInstr::EndRow { done }, WordKind::Word, NO_SITE);
    }
}
