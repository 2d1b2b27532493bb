//! Platform memory: the instructions that read and change it, and the conditions of rows.

use super::blame::blamed;
use super::guest::Vm;
use super::instr::{PlatformInstr, Reg};
use super::operands::{Values, range};
use super::pure::evaluate;
use super::unwind::{Exception, ExceptionDetail};
use crate::event::{ContextId, SiteId, ThreadId, Value};
use crate::lang::program::NO_SITE;
use crate::world::{Next, Platform, ThrownException, World};

impl PlatformInstr {
    /// Returns the value of an instruction that only reads platform memory. 0 for every other one.
    pub(super) fn value(&self, regs: &[Value], world: &World) -> Result<Value, ThrownException> {
        let platform = known(world);
        let instance = |reg: Reg| platform.instance_of(regs[usize::from(reg)]).map(|id| &platform.instances()[id]);
        Ok(match *self {
            Self::State(state) => platform.state(state.0 as usize),
            Self::Field { instance: of, field } => instance(of)?.fields[field as usize],
            Self::Stage(of) => i64::from(instance(of)?.stage),
            Self::Parameter { instance: of, index } => instance(of)?.params[index as usize],
            Self::Some { kind, stages, than } => {
                let than = platform.instance_of(regs[usize::from(than)])?;
                i64::from(world.some_in(kind.0, stages, than))
            }
            Self::Asked { instance: of, row } => {
                let of = platform.instance_of(regs[usize::from(of)])?;
                let index = world.setup().platform.row(row).map_or(0, |row| row.index);
                i64::from(platform.is_asked(of, index))
            }
            Self::Count(component) => platform.of_component(component).count() as Value,
            Self::Nth { component, index } => {
                let nth = platform.of_component(component).nth(regs[usize::from(index)] as usize);
                nth.map_or(crate::event::NULL, |(_, i)| i64::from(i.object.0))
            }
            Self::Check(of) => instance(of).map(|_| 0)?,
            _ => 0,
        })
    }

    /// Whether the instruction uses platform memory that can change.
    pub(super) fn uses(&self) -> bool {
        !matches!(self, Self::Parameter { .. } | Self::Check(_))
    }

    /// Calls `f` with each register that the instruction reads.
    pub(super) fn operands(&self, f: &mut dyn FnMut(Reg)) {
        match *self {
            Self::SetState(_, reg)
            | Self::Field { instance: reg, .. }
            | Self::Stage(reg)
            | Self::SetStage { instance: reg, .. }
            | Self::Parameter { instance: reg, .. }
            | Self::Some { than: reg, .. }
            | Self::Asked { instance: reg, .. }
            | Self::Again(reg)
            | Self::Withdraw { request: reg, .. }
            | Self::Nth { index: reg, .. }
            | Self::Check(reg) => f(reg),
            Self::SetField { instance, src, .. } => {
                f(instance);
                f(src);
            }
            Self::Ask { args, .. } | Self::Make { args, .. } => (args.first..args.first + args.count).for_each(f),
            Self::State(_) | Self::Single(_) | Self::Count(_) | Self::BeginRow | Self::EndRow { .. } => {}
        }
    }
}

fn known(world: &World) -> &Platform {
    world.platform().expect("only a program with components uses platform memory")
}

impl Vm {
    /// Performs an instruction on platform memory. Returns how the thread stops if the instruction ends its run, and
    /// `None` if the thread continues.
    #[inline(never)]
    pub(super) fn use_platform(
        &mut self,
        world: &mut World,
        thread: ThreadId,
        (what, dst, site): (PlatformInstr, Reg, SiteId),
    ) -> Option<Next> {
        let site = (site != NO_SITE).then_some(site);
        let thrown = match self.platform_value(world, thread, what) {
            Ok(Some(value)) => {
                self.set(thread, dst, value);
                return world.outcome().is_some().then_some(Next::Ended);
            }
            Ok(None) => {
                let PlatformInstr::Withdraw { exception: name, .. } = what else { return None };
                Exception { name, says: ExceptionDetail::Nothing, site }
            }
            Err(thrown) => {
                let blame = blamed(&self.code.blamed, self.fibers[thread].pc);
                self.built_in(thrown, site, blame)
            }
        };
        self.throw(world, thread, thrown)
    }

    // Performs the instruction and returns its value. `None` for a second withdrawal.
    fn platform_value(
        &mut self,
        world: &mut World,
        thread: ThreadId,
        what: PlatformInstr,
    ) -> Result<Option<Value>, ThrownException> {
        let (maker, regs) = (world.thread(thread).context, self.fibers[thread].top());
        let get = |reg: Reg| regs[usize::from(reg)];
        let instance = |world: &World, reg: Reg| known(world).instance_of(get(reg));
        let value = match what {
            PlatformInstr::SetState(state, src) => {
                world.set_state(state.0 as usize, get(src));
                0
            }
            PlatformInstr::SetField { instance: of, field, src } => {
                world.set_field(instance(world, of)?, field as usize, get(src));
                0
            }
            PlatformInstr::SetStage { instance: of, stage } => {
                world.set_stage(instance(world, of)?, stage);
                0
            }
            PlatformInstr::Ask { row, args } => {
                let args = Values::from_slice(range(regs, args));
                let of = known(world).instance_of(args[0])?;
                world.ask(thread, of, row, &args)
            }
            PlatformInstr::Make { component, args } => world.make_instance(component, range(regs, args), maker),
            PlatformInstr::Again(of) => world.make_again(instance(world, of)?, maker),
            PlatformInstr::Single(component) => world.single_instance(component, maker),
            PlatformInstr::Withdraw { request, .. } => {
                if !world.withdraw(get(request))? {
                    return Ok(None);
                }
                0
            }
            PlatformInstr::BeginRow => return Ok(Some(i64::from(world.begin_row(maker)))),
            PlatformInstr::EndRow { done } => {
                world.end_row(maker, done);
                0
            }
            reads => {
                if reads.uses() {
                    world.use_platform();
                }
                return reads.value(regs, world).map(Some);
            }
        };
        self.settle(world, (Some(thread), maker));
        Ok(Some(value))
    }

    /// Evaluates the conditions of all rows again. `by` is the thread and context of the change.
    pub(super) fn settle(&self, world: &mut World, by: (Option<ThreadId>, ContextId)) {
        world.settle_rows(by, |world, row, object| {
            let Some(fragment) = self.code.conditions[row] else { return true };
            // A condition that throws does not hold.
            let regs = [i64::from(object.0)];
            evaluate(self.code.fragment(fragment), &regs, world, None).is_ok_and(|value| value != 0)
        });
    }
}
