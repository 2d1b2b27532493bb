//! Lowers places: the meaning of a name, `e.f` or `e[i]`, before it is known whether it is read or written.

use super::Checker;
use super::mixed::MixedPlace;
use super::names::NameMeaning;
use super::platform::PlatformPlace;
use super::scope::{LocalMeaning, Mode};
use super::sites::place_text;
use super::types::{article, constant, word};
use crate::event::{SiteId, SiteKind};
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, BinaryOp, ExprKind as Ast, Span};
use crate::lang::program::{Dimension, ElementIndex, Expr, ExprKind, LocalId, MemoryPlace, NO_SITE, Root, Type};

/// The meaning of an expression in the position of a place. The sites in its path are set later, when it is accessed
/// ([`set_site`]).
pub(super) enum PlaceMeaning {
    /// A local of one word. `fixed` if it cannot be assigned.
    Local { id: LocalId, fixed: bool },
    /// A local array, or an element of one.
    LocalElement { local: LocalId, index: ElementIndex, ty: Type },
    /// Shared memory: a word, a list or an array.
    Shared(MemoryPlace),
    /// An element of a list.
    ListElement { list: MemoryPlace, index: Expr, ty: Type },
    /// An array of locks or conditions, or a parametrized thread.
    Family { ty: Type, first: i64, len: u32, from: i64 },
    /// A value that is not a place.
    Value(Expr),
    /// Platform memory.
    Platform(PlatformPlace, Type),
}

/// What a `for` iterates over, with the type of its elements.
pub(super) enum Iterated {
    /// A list.
    List(MemoryPlace, Type),
    /// A channel.
    Channel(Expr, Type),
}

impl Checker {
    /// Lowers the path of a place: its object and its indices, without the access itself.
    pub(super) fn target(&mut self, e: &ast::Expr) -> Option<PlaceMeaning> {
        let mut target = match &e.kind {
            Ast::Name(name) => self.named(&ast::Name { text: name.clone(), at: e.at }),
            Ast::Field { object, name } => self.field_of(object, name, e),
            Ast::Index { object, index } => self.element_of(object, index),
            Ast::Plain(place) => self.plain(place, e.at),
            _ => self.expr(e).map(PlaceMeaning::Value),
        };
        if let Some(PlaceMeaning::Shared(place)) = &mut target {
            place.at = e.at.0;
        }
        target
    }

    // Lowers the place of a plain access of an atomic.
    fn plain(&mut self, place: &ast::Expr, at: At) -> Option<PlaceMeaning> {
        self.only_in_body(at, "a plain access", false)?;
        match self.target(place)? {
            PlaceMeaning::Shared(target) if target.atomic => {
                if !self.scope.dead {
                    self.mixed.plain.insert(MixedPlace::of(&target));
                }
                Some(PlaceMeaning::Shared(MemoryPlace { atomic: false, ..target }))
            }
            _ => {
                let help = "leave `plain` out: every access of what is not an atomic is plain";
                self.error_help(at, "`plain` needs an atomic", "this is not declared with `atomic`", help);
                None
            }
        }
    }

    fn named(&mut self, name: &ast::Name) -> Option<PlaceMeaning> {
        self.note_local(name);
        match self.local(&name.text) {
            Some(LocalMeaning::Value(value)) => return Some(PlaceMeaning::Value(word(*value, Type::Int))),
            Some(LocalMeaning::Broken) => return None,
            Some(&LocalMeaning::Local { id, fixed }) => {
                if self.scope.mode == Mode::Const {
                    self.error(name.at, format!("`{}` is not constant", name.text), "only constants can be used here");
                    return None;
                }
                let ty = self.local_type(id);
                return Some(match ty {
                    Type::Array(..) => PlaceMeaning::LocalElement { local: id, index: Vec::new(), ty },
                    _ => PlaceMeaning::Local { id, fixed },
                });
            }
            None => {}
        }
        if name.text == "now" && !self.names.contains_key("now") && self.scope.mode == Mode::Body {
            let site = self.site(SiteKind::Now, String::new(), name.at);
            return Some(PlaceMeaning::Value(Expr::new(ExprKind::Now { site }, Type::Int)));
        }
        let constants = self.scope.mode == Mode::Const;
        let wanted = |n: &NameMeaning| if constants { matches!(n, NameMeaning::Const(..)) } else { n.is_value() };
        let named = self.find(name, "name", wanted)?;
        let what = self.names[&name.text].what;
        match named {
            NameMeaning::Const(ty, value) => Some(PlaceMeaning::Value(word(value, ty))),
            NameMeaning::Broken => None,
            _ if constants => {
                let help = self.suggest_const(&name.text).unwrap_or_else(|| "only constants can be used here".into());
                self.error_help(
                    name.at,
                    format!("`{}` is {what}, not a constant", name.text),
                    "this is not constant",
                    help,
                );
                None
            }
            NameMeaning::Word(ty, value) => Some(PlaceMeaning::Value(word(value, ty))),
            NameMeaning::Family { ty, first, len, from } => Some(PlaceMeaning::Family { ty, first, len, from }),
            NameMeaning::Global(_) if self.scope.mode == Mode::First => {
                self.error_help(
                    name.at,
                    format!("`{}` is {what}, not a constant", name.text),
                    "nothing has run yet",
                    "assign it in `init { }`",
                );
                None
            }
            NameMeaning::Global(id) => {
                let global = &self.out.globals[id];
                let (ty, atomic) = (global.ty.clone(), global.atomic);
                Some(PlaceMeaning::Shared(MemoryPlace {
                    root: Root::Global(id),
                    index: Vec::new(),
                    ty,
                    atomic,
                    at: Span::default(),
                }))
            }
            NameMeaning::Pending => {
                self.error_help(
                    name.at,
                    format!("`{}` is not known yet", name.text),
                    "its own declaration comes later",
                    "move that declaration up",
                );
                None
            }
            NameMeaning::Class(_) => {
                self.no_value(name, Some(format!("write `new {}` to create an object of this class", name.text)))
            }
            NameMeaning::Task(_) => self.no_value(name, Some(format!("write `{}(...)` to call the task", name.text))),
            NameMeaning::State(state) => self.state(name, state),
            NameMeaning::Listener(_) | NameMeaning::Event(..) | NameMeaning::Verb(..) | NameMeaning::Property => {
                self.no_value(name, None)
            }
        }
    }

    fn no_value(&mut self, name: &ast::Name, help: Option<String>) -> Option<PlaceMeaning> {
        self.wrong_kind(name, "a value", help);
        None
    }

    fn field_of(&mut self, object: &ast::Expr, name: &ast::Name, whole: &ast::Expr) -> Option<PlaceMeaning> {
        if name.text == "len"
            && let Some(len) = self.constant_len(object)
        {
            return Some(PlaceMeaning::Value(word(len, Type::Int)));
        }
        let target = self.target(object)?;
        if name.text == "len" {
            match target {
                PlaceMeaning::Shared(mut list) if matches!(list.ty, Type::List(_)) => {
                    let site = self.site(SiteKind::Read, place_text(object), whole.at);
                    set_site(&mut list, site);
                    return Some(PlaceMeaning::Value(Expr::new(ExprKind::ListLen { list, site }, Type::Int)));
                }
                PlaceMeaning::Shared(MemoryPlace { ty: Type::Array(_, len), .. })
                | PlaceMeaning::LocalElement { ty: Type::Array(_, len), .. }
                | PlaceMeaning::Family { len, .. } => {
                    return Some(PlaceMeaning::Value(word(i64::from(len), Type::Int)));
                }
                _ => {}
            }
        }
        if let PlaceMeaning::Shared(MemoryPlace { ty: Type::List(_), .. }) = target {
            let help = super::did_you_mean(&name.text, ["len"])
                .unwrap_or_else(|| "use `len`, `push(e)`, `pop()`, `remove(i)`, `clear()` or `[i]`".into());
            self.error_help(name.at, format!("a list has no field `{}`", name.text), "lists have no such field", help);
            return None;
        }
        let (at, written) = (object.at, object);
        let object = self.load(target, object)?;
        if matches!(object.ty, Type::Thread | Type::Looper) && name.text == "interrupted" {
            self.only_in_body(whole.at, "the interrupt flag", false)?;
            let site = self.site(SiteKind::ReadInterrupt, place_text(written), whole.at);
            let kind = ExprKind::ReadInterrupt { thread: Box::new(object), site };
            return Some(PlaceMeaning::Value(Expr::new(kind, Type::Bool)));
        }
        if let Type::Channel(_) = object.ty {
            return self.channel_field(object, written, name, whole.at).map(PlaceMeaning::Value);
        }
        if let Type::Job(_) = object.ty {
            return self.ask_job(object, name, (written, whole.at));
        }
        let Type::Object(class) = object.ty else {
            let ty = self.name_of(&object.ty);
            self.error(at, format!("{} has no fields", article(&ty)), format!("so it has no `{}`", name.text));
            return None;
        };
        self.note_field_use(class, name);
        // The text of a kind does not know the fields of the component, so a state of the kind comes first.
        if self.scope.of_kind
            && let Some(place) = self.state_field(&object, class, name)
        {
            return Some(place);
        }
        let fields = &self.out.classes[class].fields;
        let Some(field) = fields.iter().position(|f| f.name == name.text) else {
            if let Some(place) = self.parameter(&object, class, name) {
                return Some(place);
            }
            let fields = &self.out.classes[class].fields;
            let class_name = self.out.classes[class].name.clone();
            let help = super::did_you_mean(&name.text, fields.iter().map(|f| f.name.as_str()));
            let mut problem = Diagnostic::new(
                name.at.0,
                format!("`{class_name}` has no field `{}`", name.text),
                "the class has no such field",
            );
            problem.help = help;
            self.problems.add(problem);
            return None;
        };
        let (ty, atomic) = (fields[field].ty.clone(), fields[field].atomic);
        if ty == Type::Void {
            return None;
        }
        let field = u32::try_from(field).expect("tables are bounded");
        let root = Root::Field { object: Box::new(object), class, field, site: NO_SITE };
        Some(PlaceMeaning::Shared(MemoryPlace { root, index: Vec::new(), ty, atomic, at: Span::default() }))
    }

    /// Returns the length of a global array, array of locks or parametrized thread. It is a constant, so `0..a.len` is
    /// a constant range.
    fn constant_len(&self, object: &ast::Expr) -> Option<i64> {
        let Ast::Name(name) = &object.kind else { return None };
        if self.local(name).is_some() {
            return None;
        }
        match self.names.get(name)?.named {
            NameMeaning::Global(id) => match self.out.globals[id].ty {
                Type::Array(_, len) => Some(i64::from(len)),
                _ => None,
            },
            NameMeaning::Family { len, .. } => Some(i64::from(len)),
            _ => None,
        }
    }

    fn element_of(&mut self, object: &ast::Expr, index: &ast::Expr) -> Option<PlaceMeaning> {
        let target = self.target(object)?;
        let ty = match &target {
            PlaceMeaning::Shared(place) => Some(place.ty.clone()),
            PlaceMeaning::LocalElement { ty, .. } => Some(ty.clone()),
            _ => None,
        };
        if !matches!(ty, Some(Type::Array(..) | Type::List(_))) && !matches!(target, PlaceMeaning::Family { .. }) {
            let value = self.load(target, object)?;
            let name = self.name_of(&value.ty);
            self.error(
                object.at,
                format!("{} cannot be indexed", article(&name)),
                "this is neither a list nor an array",
            );
            return None;
        }
        let at = index.at;
        let index = self.expr_of(index, &Type::Int, "an index")?;
        Some(match (target, ty) {
            (PlaceMeaning::Shared(list), Some(Type::List(of))) => {
                PlaceMeaning::ListElement { list, index, ty: (*of).clone() }
            }
            (PlaceMeaning::Shared(mut place), Some(Type::Array(of, len))) => {
                place.index.push(dimension(index, (len, &of), object.at));
                place.ty = (*of).clone();
                PlaceMeaning::Shared(place)
            }
            (PlaceMeaning::LocalElement { local, index: mut outer, .. }, Some(Type::Array(of, len))) => {
                outer.push(dimension(index, (len, &of), object.at));
                PlaceMeaning::LocalElement { local, index: outer, ty: (*of).clone() }
            }
            (PlaceMeaning::Family { ty, first, len, from }, _) => {
                PlaceMeaning::Value(self.member(ty, (first, len, from), index, (at, object.at))?)
            }
            _ => unreachable!("the type says that it can be indexed"),
        })
    }

    /// Lowers an element of an array of locks or conditions, or one of a parametrized thread.
    fn member(
        &mut self,
        ty: Type,
        (first, len, from): (i64, u32, i64),
        index: Expr,
        (at, of): (At, At),
    ) -> Option<Expr> {
        let index = if from == 0 { index } else { self.arithmetic(BinaryOp::Sub, index, word(from, Type::Int), at)? };
        if let Some(i) = constant(&index).filter(|i| (0..i64::from(len)).contains(i)) {
            return Some(word(first + i, ty));
        }
        let site = self.check_site();
        let index = Box::new(Expr { at: at.0, ..index });
        Some(Expr::new(ExprKind::Indexed { first, len, index, site, of: of.0 }, ty))
    }

    /// Lowers a read of a place.
    pub(super) fn load(&mut self, target: PlaceMeaning, e: &ast::Expr) -> Option<Expr> {
        let value = self.loaded(target, e)?;
        Some(Expr { at: e.at.0, ..value })
    }

    fn loaded(&mut self, target: PlaceMeaning, e: &ast::Expr) -> Option<Expr> {
        match target {
            PlaceMeaning::Value(value) => Some(value),
            PlaceMeaning::Platform(place, ty) => Some(self.read_platform(place, ty)),
            PlaceMeaning::Local { id, .. } => Some(Expr::new(ExprKind::Local(id), self.local_type(id))),
            PlaceMeaning::LocalElement { ty: Type::Array(..), .. }
            | PlaceMeaning::Shared(MemoryPlace { ty: Type::Array(..), .. }) => {
                let help = format!("copy its elements in a loop: `for i in 0..{}.len`", place_text(e));
                self.error_help(e.at, "an array cannot be copied, passed or compared", "this is a whole array", help);
                None
            }
            PlaceMeaning::LocalElement { local, mut index, ty } => {
                let site = self.check_site();
                set_sites(&mut index, site);
                Some(Expr::new(ExprKind::LocalElement { local, index }, ty))
            }
            PlaceMeaning::Shared(MemoryPlace { ty: Type::List(_), .. }) => {
                let help = "use its elements: `l[i]`, `l.len`, `for x in l`; to share it, pass an object that has it as a field";
                self.error_help(e.at, "a list cannot be copied, passed or compared", "this is a whole list", help);
                None
            }
            PlaceMeaning::Shared(mut place) => {
                let kind = if place.atomic { SiteKind::AtomicRead } else { SiteKind::Read };
                let site = self.site(kind, place_text(e), e.at);
                self.note_atomic(&place, site);
                set_site(&mut place, site);
                let ty = place.ty.clone();
                Some(Expr::new(ExprKind::Read { place, site }, ty))
            }
            PlaceMeaning::ListElement { mut list, index, ty } => {
                let site = self.site(SiteKind::Read, place_text(e), e.at);
                set_site(&mut list, site);
                Some(Expr::new(ExprKind::ListGet { list, index: Box::new(index), site }, ty))
            }
            PlaceMeaning::Family { ty, .. } => {
                let ty = self.name_of(&ty);
                let help = format!("choose one, as in `{}[0]`", place_text(e));
                self.error_help(
                    e.at,
                    format!("`{}` names several values of type `{ty}`", place_text(e)),
                    "one of them is needed here",
                    help,
                );
                None
            }
        }
    }

    /// Lowers an expression that must be a list, or reports an error. `what` names the construct that needs it.
    pub(super) fn list(&mut self, e: &ast::Expr, what: &str) -> Option<(MemoryPlace, Type)> {
        let target = self.target(e)?;
        self.list_at(target, e, what)
    }

    /// Lowers what a `for` iterates over: a list or a channel.
    pub(super) fn iterated(&mut self, e: &ast::Expr) -> Option<Iterated> {
        let target = match self.target(e)? {
            target @ (PlaceMeaning::Value(_) | PlaceMeaning::Local { .. }) => {
                PlaceMeaning::Value(self.load(target, e)?)
            }
            PlaceMeaning::Shared(place) if matches!(place.ty, Type::Channel(_)) => {
                PlaceMeaning::Value(self.load(PlaceMeaning::Shared(place), e)?)
            }
            target => target,
        };
        if let PlaceMeaning::Value(channel) = &target
            && let Type::Channel(of) = &channel.ty
        {
            return Some(Iterated::Channel(channel.clone(), (**of).clone()));
        }
        self.list_at(target, e, "`for ... in` needs a range or").map(|(list, of)| Iterated::List(list, of))
    }

    fn list_at(&mut self, target: PlaceMeaning, e: &ast::Expr, what: &str) -> Option<(MemoryPlace, Type)> {
        match target {
            PlaceMeaning::Shared(place) if matches!(place.ty, Type::List(_)) => {
                let Type::List(of) = &place.ty else { unreachable!() };
                let of = (**of).clone();
                Some((place, of))
            }
            PlaceMeaning::Shared(MemoryPlace { ty: Type::Array(..), .. })
            | PlaceMeaning::LocalElement { ty: Type::Array(..), .. } => {
                let help = format!("write `for i in 0..{}.len`", place_text(e));
                self.error_help(e.at, format!("{what} a list"), "this is an array", help);
                None
            }
            target => {
                let value = self.load(target, e)?;
                let ty = self.name_of(&value.ty);
                self.error(e.at, format!("{what} a list"), format!("this is {}", article(&ty)));
                None
            }
        }
    }
}

fn dimension(index: Expr, (len, of): (u32, &Type), array: At) -> Dimension {
    let stride = u32::try_from(of.cells()).expect("memory is bounded");
    Dimension { index, len, stride, site: NO_SITE, array: array.0 }
}

/// Sets the site at which evaluation of the path of a place fails: the site of the access.
pub(super) fn set_site(place: &mut MemoryPlace, site: SiteId) {
    set_sites(&mut place.index, site);
    if let Root::Field { site: at, .. } = &mut place.root {
        *at = site;
    }
}

pub(super) fn set_sites(index: &mut ElementIndex, site: SiteId) {
    for dimension in index {
        dimension.site = site;
    }
}
