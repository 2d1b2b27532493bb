//! Builds the setup of a run, the things that exist at the start, from the program's tables.

use crate::base::{Id, IndexVec};
use crate::event::{HandlerId, ThreadId};
use crate::lang::Program;
use crate::lang::program::{self, ExceptionScope, ExprKind, Init, Type};
use crate::world::{
    ChannelSetup, ComponentSetup, EventSetup, FirstValue, MixedAtomics, PlatformSetup, PoolSetup, RowSetup, Setup,
    ThreadSetup, WordKind,
};

/// Returns the kinds of the cells or registers that a value of this type takes.
pub(super) fn cell_kinds(ty: &Type) -> Vec<WordKind> {
    match ty {
        Type::Object(_) => vec![WordKind::Object],
        Type::Thread | Type::Looper | Type::Job(_) => vec![WordKind::Thread],
        Type::Handler => vec![WordKind::Handler],
        Type::Fence => vec![WordKind::Fence],
        Type::Request => vec![WordKind::Request],
        Type::Message => vec![WordKind::Message],
        Type::List(element) => vec![match cell_kinds(element).first() {
            Some(WordKind::Object) => WordKind::ListOfObjects,
            Some(WordKind::Thread) => WordKind::ListOfThreads,
            Some(WordKind::Handler) => WordKind::ListOfHandlers,
            Some(WordKind::Fence) => WordKind::ListOfFences,
            Some(WordKind::Message) => WordKind::ListOfMessages,
            _ => WordKind::ListOfWords,
        }],
        Type::Array(element, len) => cell_kinds(element).repeat(*len as usize),
        _ => vec![WordKind::Word],
    }
}

fn first_values(globals: &[program::Global]) -> Vec<FirstValue> {
    let first = |init: &Init| match init {
        Init::Word(word) => FirstValue::Word(*word),
        Init::New(class) => FirstValue::New(class.0),
        Init::List(items) => FirstValue::List(items.clone()),
    };
    globals.iter().flat_map(|g| g.init.iter().map(first)).collect()
}

// The names of the cells of globals or fields: `x`, `a[2]`, `m[1][0]`.
fn cell_names(globals: &[program::Global]) -> Vec<String> {
    fn names(prefix: &str, ty: &Type, into: &mut Vec<String>) {
        match ty {
            Type::Array(element, len) => (0..*len).for_each(|i| names(&format!("{prefix}[{i}]"), element, into)),
            _ => into.push(prefix.to_owned()),
        }
    }
    let mut all = Vec::new();
    globals.iter().for_each(|g| names(&g.name, &g.ty, &mut all));
    all
}

pub(super) fn setup(program: &Program) -> Setup {
    Setup {
        threads: program
            .threads
            .iter()
            .map(|t| ThreadSetup { name: t.name.clone(), daemon: t.daemon, looper: t.looper })
            .collect(),
        bodies: program.bodies.iter().map(|b| b.name.clone()).collect(),
        sites: program.sites.clone(),
        uses: program.uses.clone(),
        cell_names: cell_names(&program.globals),
        field_names: program.classes.iter().map(|c| cell_names(&c.fields)).collect(),
        locks: program.locks.iter().map(|l| (l.name.clone(), l.reentrant)).collect(),
        conditions: program.conditions.clone(),
        rwlocks: program.rwlocks.iter().map(|l| (l.name.clone(), l.prefer)).collect(),
        semaphores: program.semaphores.clone(),
        barriers: program.barriers.clone(),
        groups: program.groups.clone(),
        channels: program
            .channels
            .iter()
            .map(|c| ChannelSetup {
                name: c.name.clone(),
                capacity: c.capacity,
                kind: super::kind(&c.of),
                zero: c.zero,
            })
            .collect(),
        handlers: program
            .handlers
            .iter()
            .map(|(n, l)| (n.clone(), ThreadId::new(*l)))
            .collect::<crate::base::IndexVec<HandlerId, _>>(),
        listeners: program.listeners.clone(),
        events: program
            .events
            .iter()
            .map(|e| EventSetup {
                name: e.name.clone(),
                body: e.body,
                looper: ThreadId::new(e.looper),
                initially: e.initially,
            })
            .collect(),
        cells: first_values(&program.globals),
        classes: program.classes.iter().map(|c| (c.name.clone(), first_values(&c.fields))).collect(),
        objects: program.objects.iter().map(|c| c.0).collect(),
        uncaught_ends_thread: program.uncaught == ExceptionScope::Thread,
        caught_fails: program.caught_fails,
        platform: platform(program),
        pools: program
            .pools
            .iter()
            .map(|pool| PoolSetup {
                name: pool.name.clone(),
                first: ThreadId::new(pool.first),
                workers: pool.workers,
                alike: !program.thread_values,
            })
            .collect(),
        mixed: mixed(program),
        texts: program.texts.iter().cloned().collect(),
        with_units: program.with_units.clone(),
        // [`Times`] sets the remaining fields.
        ..Setup::default()
    }
}

fn mixed(program: &Program) -> MixedAtomics {
    let cells = |globals: &[program::Global]| -> Vec<u32> {
        globals.iter().filter(|g| g.mixed).flat_map(|g| g.offset..g.offset + g.cells).collect()
    };
    let of_class = |(class, def): (program::ClassId, &program::ClassDef)| {
        cells(&def.fields).into_iter().map(|cell| (class.0, cell)).collect::<Vec<_>>()
    };
    MixedAtomics {
        cells: cells(program.globals.as_slice()),
        fields: program.classes.enumerate().flat_map(of_class).collect(),
    }
}

fn platform(program: &Program) -> PlatformSetup {
    let of = &program.components;
    if of.is_empty() {
        return PlatformSetup::default();
    }
    let kind = |ty: &Type| cell_kinds(ty).first().copied().unwrap_or(WordKind::Word);
    let state = |state: &program::StateDef| match state.init {
        Init::Word(word) => (word, kind(&state.ty)),
        Init::New(_) | Init::List(_) => {
            debug_assert!(false, "platform memory has no objects of its own");
            (0, WordKind::Word)
        }
    };
    let mut platform = PlatformSetup {
        components: of
            .all
            .iter()
            .map(|c| ComponentSetup {
                name: c.name.clone(),
                kind: c.kind.0,
                stages: of.kinds[c.kind].stages.clone(),
                class: c.class.0,
                params: c.params.iter().map(|(_, ty)| kind(ty)).collect(),
                fields: c.fields.iter().map(state).collect(),
                rows: Vec::new(),
                single: c.single.map(|single| single.until),
                maker: None,
            })
            .collect(),
        rows: IndexVec::new(),
        states: of.states.iter().map(state).collect(),
    };
    for (id, event) in program.events.enumerate() {
        let row = event.row.as_ref().map(|row| {
            let rows = &mut platform.components[row.component].rows;
            rows.push(id);
            RowSetup {
                name: event.name.rsplit('.').next().unwrap_or_default().to_owned(),
                component: row.component,
                index: rows.len() - 1,
                from: row.from,
                to: row.to,
                by_request: row.by_request,
                has_condition: row.when.is_some(),
                at_most: row.at_most,
            }
        });
        platform.rows.push(row);
    }
    platform
}

/// The delays and instants that a program names as constants. The compiler collects them.
#[derive(Default)]
pub(super) struct Times {
    delays: Vec<u64>,
    instants: Vec<u64>,
    computed: bool,
}

impl Times {
    pub(super) fn delay(&mut self, e: &program::Expr) {
        if let ExprKind::Word(d) = e.kind
            && d > 0
        {
            self.delays.push(d as u64);
        }
    }

    pub(super) fn instant(&mut self, e: &program::Expr) {
        match e.kind {
            ExprKind::Word(t) => self.instants.extend(u64::try_from(t).ok().filter(|t| *t > 0)),
            _ => self.computed = true,
        }
    }

    /// Records that the program reads the clock, so that every instant may matter later.
    pub(super) fn reads_clock(&mut self) {
        self.computed = true;
    }

    pub(super) fn write_to(self, setup: &mut Setup) {
        let sorted = |mut all: Vec<u64>| {
            all.sort_unstable();
            all.dedup();
            all
        };
        (setup.delays, setup.instants) = (sorted(self.delays), sorted(self.instants));
        let last = setup.instants.last().copied().unwrap_or(0);
        setup.absolute_until = if self.computed { u64::MAX } else { last };
    }
}
