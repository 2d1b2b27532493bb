//! Formats values of the model. At run time a value is a plain number; its meaning comes from the types of the checked
//! program.

use crate::base::IndexVec;
use crate::event::{Args, BodyId, HandlerId, Location, NULL, ObjectId, ThreadId, Value};
use crate::lang::Program;
use crate::lang::program::{Global, Type};
use crate::world::World;

/// The types of all cells and parameters. The default value has no types, so that values print as numbers.
#[derive(Default)]
pub(super) struct Types {
    globals: Vec<Type>,
    // For each class, the types of the cells of an object.
    fields: Vec<Vec<Type>>,
    params: IndexVec<BodyId, Vec<Type>>,
    results: IndexVec<BodyId, Type>,
}

impl Types {
    /// Returns the types of a program.
    pub(super) fn of(program: &Program) -> Self {
        let params = |body: &crate::lang::program::Body| {
            body.locals.iter().take(body.params as usize).map(|(_, ty)| ty.clone()).collect()
        };
        Self {
            globals: cells(&program.globals),
            fields: program.classes.iter().map(|c| cells(&c.fields)).collect(),
            params: program.bodies.iter().map(params).collect(),
            results: program.bodies.iter().map(|body| body.result.clone()).collect(),
        }
    }

    fn cell(&self, world: &World, at: Location) -> Option<&Type> {
        match at.object {
            None => self.globals.get(at.cell as usize),
            Some(object) => {
                let object = world.memory().object(object);
                self.fields.get(object.class as usize)?.get((at.cell - object.base) as usize)
            }
        }
    }

    /// Returns whether a location holds a list.
    pub(super) fn is_list(&self, world: &World, at: Location) -> bool {
        matches!(self.cell(world, at), Some(Type::List(_)))
    }

    /// Formats the value of a location, or of an element of the list at that location.
    pub(super) fn value(&self, world: &World, at: Location, value: Value) -> String {
        let ty = match self.cell(world, at) {
            Some(Type::List(element)) => Some(&**element),
            ty => ty,
        };
        word(world, ty.unwrap_or(&Type::Int), value)
    }

    /// Formats the result of a job.
    pub(super) fn result(&self, world: &World, job: ThreadId, value: Value) -> String {
        let ty = self.results.get(world.body_of(job).0 as usize);
        word(world, ty.unwrap_or(&Type::Int), value)
    }

    /// Formats the arguments of a call: `(1, true)`, or an empty text if there are none.
    pub(super) fn arguments(&self, world: &World, body: BodyId, args: Args) -> String {
        let args = world.args(args);
        if args.is_empty() {
            return String::new();
        }
        let types = self.params.get(body.0 as usize);
        let ty = |i: usize| types.and_then(|t| t.get(i)).unwrap_or(&Type::Int);
        let texts: Vec<String> = args.iter().enumerate().map(|(i, v)| word(world, ty(i), *v)).collect();
        format!("({})", texts.join(", "))
    }
}

fn cells(globals: &[Global]) -> Vec<Type> {
    fn each(ty: &Type, into: &mut Vec<Type>) {
        match ty {
            Type::Array(element, len) => (0..*len).for_each(|_| each(element, into)),
            other => into.push(other.clone()),
        }
    }
    let mut all = Vec::new();
    globals.iter().for_each(|g| each(&g.ty, &mut all));
    all
}

fn word(world: &World, ty: &Type, value: Value) -> String {
    let is_reference = !matches!(ty, Type::Int | Type::Bool | Type::Message | Type::Void);
    if is_reference && value == NULL {
        return "null".to_owned();
    }
    let setup = world.setup();
    let name = usize::try_from(value).ok().and_then(|i| match ty {
        Type::Bool | Type::Message => Some((value != 0).to_string()),
        Type::Object(_) => (i < world.memory().objects_len()).then(|| world.object_name(ObjectId(i as u32))),
        Type::Thread | Type::Looper | Type::Job(_) => {
            (i < world.threads().len()).then(|| world.thread_name(ThreadId(i as u32)))
        }
        Type::Handler => Some(handler(world, HandlerId(i as u32))),
        Type::Lock => setup.locks.get(i).map(|(name, _)| name.clone()),
        Type::Condition => setup.conditions.get(i).cloned(),
        Type::RwLock => setup.rwlocks.get(i).map(|(name, _)| name.clone()),
        Type::Semaphore => setup.semaphores.get(i).map(|(name, _)| name.clone()),
        Type::Barrier => setup.barriers.get(i).map(|(name, _)| name.clone()),
        Type::Group => setup.groups.get(i).cloned(),
        Type::Channel(_) => setup.channels.get(i).map(|c| c.name.clone()),
        Type::Fence => Some("a fence".to_owned()),
        Type::Request => Some("a request".to_owned()),
        _ => None,
    });
    name.unwrap_or_else(|| value.to_string())
}

/// Returns the name of a handler. Handlers that the run created are numbered.
pub(super) fn handler(world: &World, handler: HandlerId) -> String {
    let declared = &world.setup().handlers;
    match declared.get(handler.0 as usize) {
        Some((name, _)) => name.clone(),
        None => {
            let looper = world.thread_of(crate::event::Target::Handler(handler));
            let nth = handler.0 as usize - declared.len() + 1;
            format!("handler {nth} of {}", world.thread_name(looper))
        }
    }
}
