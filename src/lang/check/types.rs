//! Types: their syntax, compatibility, and names in messages.

use super::Checker;
use super::names::NameMeaning;
use super::scope::Mode;
use crate::event::NULL;
use crate::lang::ast::{self, At, BaseType, UnaryOp};
use crate::lang::program::{ClassId, Expr, ExprKind, Type};
use crate::lang::words::TYPES;
use std::sync::Arc;

impl Type {
    /// Returns the built-in type with this name. `list` stands for lists of any element type here.
    pub(super) fn built_in(name: &str) -> Option<Type> {
        Some(match name {
            "int" => Type::Int,
            "bool" => Type::Bool,
            "Object" => Type::Object(ClassId(0)),
            "thread" => Type::Thread,
            "looper" => Type::Looper,
            "pool" => Type::Pool,
            "handler" => Type::Handler,
            "lock" | "mutex" => Type::Lock,
            "condition" => Type::Condition,
            "rwlock" => Type::RwLock,
            "semaphore" => Type::Semaphore,
            "barrier" => Type::Barrier,
            "fence" => Type::Fence,
            "message" => Type::Message,
            "request" => Type::Request,
            "waitgroup" => Type::Group,
            "channel" => Type::Channel(Arc::new(Type::Int)),
            "job" => Type::Job(Arc::new(Type::Void)),
            "list" => Type::List(Arc::new(Type::Int)),
            _ => return None,
        })
    }

    /// Returns whether a value of the type is one word that can be copied.
    pub(super) fn is_word(&self) -> bool {
        !matches!(self, Type::List(_) | Type::Array(..) | Type::Void)
    }

    /// Returns whether null is a value of the type. It is not for a message: compared with a message, null stands for
    /// false (refused).
    pub(super) fn has_null(&self) -> bool {
        matches!(
            self,
            Type::Object(_)
                | Type::Thread
                | Type::Looper
                | Type::Handler
                | Type::Lock
                | Type::Fence
                | Type::Request
                | Type::Channel(_)
                | Type::Job(_)
                | Type::Null
        )
    }

    /// Returns the word of a variable without an initial value, if the type has a default.
    pub(super) fn default_word(&self) -> Option<i64> {
        match self {
            Type::Int | Type::Bool | Type::Message => Some(0),
            ty if ty.has_null() => Some(NULL),
            _ => None,
        }
    }

    /// Returns whether a value of the type can be used where `wanted` is required.
    fn fits(&self, wanted: &Type) -> bool {
        match (self, wanted) {
            (a, b) if a == b => true,
            (Type::Null, b) => b.has_null() || *b == Type::Message,
            (Type::Message, Type::Bool)
            | (Type::Looper, Type::Thread)
            | (Type::Object(_), Type::Object(ClassId(0))) => true,
            (Type::Job(_), Type::Job(of)) => **of == Type::Void,
            _ => false,
        }
    }

    /// Number of cells of memory that a value takes.
    pub(super) fn cells(&self) -> u64 {
        match self {
            Type::Array(of, len) => of.cells().saturating_mul(u64::from(*len)),
            _ => 1,
        }
    }
}

/// Returns an expression that is a word.
pub(super) fn word(value: i64, ty: Type) -> Expr {
    Expr::new(ExprKind::Word(value), ty)
}

/// Returns the value of a constant expression, or `None` for any other expression.
pub(super) fn constant(e: &Expr) -> Option<i64> {
    match e.kind {
        ExprKind::Word(value) => Some(value),
        _ => None,
    }
}

impl Checker {
    /// Lowers a type as written. The lengths of an array must be constants.
    pub(super) fn ty(&mut self, ty: &ast::Type) -> Option<Type> {
        let mut result = match &ty.base {
            BaseType::Name(name) => self.named_type(name)?,
            BaseType::Channel(of) => {
                let element = self.ty(of)?;
                Type::Channel(Arc::new(self.carried(element, of.at)?))
            }
            BaseType::List(of) => {
                let element = self.ty(of)?;
                if !element.is_word() {
                    let message = format!("a list cannot contain {}", self.plural(&element));
                    self.error_help(
                        of.at,
                        message,
                        "the elements of a list are single words",
                        "make it a list of objects of a class that has such a field",
                    );
                    return None;
                }
                Type::List(Arc::new(element))
            }
            BaseType::Job(of) => {
                let value = self.ty(of)?;
                if !value.is_word() {
                    let message = format!("a job with {}", self.plural(&value));
                    self.error_help(
                        of.at,
                        message,
                        "the value of a job is a single word",
                        "return an object of a class that has such a field",
                    );
                    return None;
                }
                Type::Job(Arc::new(value))
            }
        };
        let lengths = match self.class_of_job(ty) {
            Some(class) => {
                self.note_use(&ast::Name { text: self.out.classes[class].name.clone(), at: ty.lengths[0].at });
                result = Type::Job(Arc::new(Type::Object(class)));
                &ty.lengths[1..]
            }
            None => &ty.lengths[..],
        };
        for length in lengths.iter().rev() {
            let len = self.constant_between(length, "an array's length", 0, super::MAX_CELLS)?;
            result = Type::Array(Arc::new(result), u32::try_from(len).expect("it was bounded"));
        }
        if result.cells() > super::MAX_CELLS {
            self.too_large(ty.at);
            return None;
        }
        Some(result)
    }

    // Returns the class C of a type that is written `job[C]`, which looks like an array.
    fn class_of_job(&self, ty: &ast::Type) -> Option<ClassId> {
        let (BaseType::Name(base), Some(ast::ExprKind::Name(of))) = (&ty.base, ty.lengths.first().map(|e| &e.kind))
        else {
            return None;
        };
        match self.names.get(of)?.named {
            NameMeaning::Class(class) if base.text == "job" => Some(class),
            _ => None,
        }
    }

    /// Reports an array or a program that needs too many cells.
    pub(super) fn too_large(&mut self, at: At) {
        let message = format!("this needs more than {} cells of memory", super::MAX_CELLS);
        self.error_help(at, message, "this is too large", "choose a smaller length: a model needs few cells");
    }

    fn named_type(&mut self, name: &ast::Name) -> Option<Type> {
        if let word @ ("list" | "channel") = name.text.as_str() {
            let elements = if word == "list" { "elements" } else { "values" };
            self.error_help(
                name.at,
                format!("a {word} needs the type of its {elements}"),
                format!("the type of the {elements} is missing"),
                format!("write it in brackets, as in `{word}[int]`"),
            );
            return None;
        }
        if let Some(ty) = Type::built_in(&name.text) {
            return Some(ty);
        }
        if !self.names.contains_key(&name.text) {
            let classes = self.names.iter().filter(|(_, e)| e.what == "a class").map(|(n, _)| n.as_str());
            let help = super::did_you_mean(&name.text, TYPES.into_iter().chain(classes));
            let help = help.unwrap_or_else(|| format!("the built-in types are {}", TYPES.join(", ")));
            let message = format!("unknown type `{}`", name.text);
            self.problems
                .add_unknown(crate::lang::Diagnostic::new(name.at.0, message, "this type is not declared").help(help));
            return None;
        }
        self.class(name).map(Type::Object)
    }

    /// Returns the name of a type for messages.
    pub(super) fn name_of(&self, ty: &Type) -> String {
        match ty {
            Type::Int => "int".into(),
            Type::Bool => "bool".into(),
            Type::Object(class) => self.out.classes[*class].name.clone(),
            Type::Thread => "thread".into(),
            Type::Looper => "looper".into(),
            Type::Pool => "pool".into(),
            Type::Handler => "handler".into(),
            Type::Lock => "lock".into(),
            Type::Condition => "condition".into(),
            Type::RwLock => "rwlock".into(),
            Type::Semaphore => "semaphore".into(),
            Type::Barrier => "barrier".into(),
            Type::Fence => "fence".into(),
            Type::Request => "request".into(),
            Type::Message => "message".into(),
            Type::Job(of) if **of == Type::Void => "job".into(),
            Type::Job(of) => format!("job[{}]", self.name_of(of)),
            Type::Null => "null".into(),
            Type::Void => "nothing".into(),
            Type::Group => "waitgroup".into(),
            Type::Channel(of) => format!("channel[{}]", self.name_of(of)),
            Type::List(of) => format!("list[{}]", self.name_of(of)),
            Type::Array(..) => {
                let (mut base, mut lengths) = (ty, String::new());
                while let Type::Array(of, len) = base {
                    lengths += &format!("[{len}]");
                    base = of;
                }
                self.name_of(base) + &lengths
            }
        }
    }

    fn plural(&self, ty: &Type) -> String {
        match ty {
            Type::List(_) => "lists".into(),
            Type::Array(..) => "arrays".into(),
            _ => self.name_of(ty),
        }
    }

    /// Converts `value` to the type `wanted`, or reports an error if it does not fit. `what` names the position: "the
    /// argument `i`".
    pub(super) fn fit(&mut self, value: Expr, wanted: &Type, at: At, what: &str) -> Option<Expr> {
        if value.ty.fits(wanted) {
            return Some(match (&value.ty, wanted) {
                (Type::Null, Type::Message) => word(0, Type::Message),
                (Type::Null, _) => Expr { at: value.at, ..word(NULL, wanted.clone()) },
                (Type::Message, Type::Bool) => self.accepted(value),
                _ => value,
            });
        }
        let (wanted_name, got) = (self.name_of(wanted), self.name_of(&value.ty));
        let message = format!("{what} is {}, not {}", article(&got), article(&wanted_name));
        let help = match (&value.ty, wanted) {
            (Type::Int, Type::Bool) => Some("compare it: `... != 0`".to_owned()),
            (Type::Bool | Type::Message, Type::Int) => Some("write `if` around a 1 and a 0, or keep it a bool".into()),
            (ty, Type::Bool) if ty.has_null() => Some("compare it: `... != null`".into()),
            (Type::Thread, Type::Looper) => {
                Some("use a variable of type `thread`, which takes both: not every thread is a looper".into())
            }
            (Type::Null, Type::Int) => Some("use a constant such as -1 for \"none\": an int is never null".into()),
            _ => None,
        };
        let mut problem = crate::lang::Diagnostic::new(at.0, message, format!("this is {}", article(&got)));
        problem.help = help;
        self.problems.add(problem);
        None
    }

    /// Lowers an expression that must have the type `wanted`.
    pub(super) fn expr_of(&mut self, e: &ast::Expr, wanted: &Type, what: &str) -> Option<Expr> {
        let value = self.value(e)?;
        self.fit(value, wanted, e.at, what)
    }

    /// Lowers a condition, which must be a bool.
    pub(super) fn truth(&mut self, e: &ast::Expr) -> Option<Expr> {
        self.expr_of(e, &Type::Bool, "a condition")
    }

    // Converts a message to whether it was accepted. Without handles its value is that truth value already.
    fn accepted(&self, message: Expr) -> Expr {
        let at = message.at;
        let kind = if self.out.handles { ExprKind::Accepted(Box::new(message)) } else { message.kind };
        Expr { at, ..Expr::new(kind, Type::Bool) }
    }

    /// Lowers a comparison of two words for equality.
    pub(super) fn equal(&mut self, ne: bool, left: Expr, right: Expr, at: At) -> Option<Expr> {
        let op = if ne { ast::BinaryOp::Ne } else { ast::BinaryOp::Eq };
        // `m == null` means that the post was refused, which is the word 0.
        let (message, null) = match (&left.ty, &right.ty) {
            (Type::Message, Type::Null) => (Some(&left), true),
            (Type::Null, Type::Message) => (Some(&right), true),
            _ => (None, false),
        };
        if null && let Some(message) = message {
            let bool_ = self.accepted(message.clone());
            return Some(if ne {
                bool_
            } else {
                Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(bool_)), Type::Bool)
            });
        }
        let (left, right) = match (&left.ty, &right.ty) {
            (Type::Message, Type::Bool) => (self.accepted(left), right),
            (Type::Bool, Type::Message) => (left, self.accepted(right)),
            _ => (left, right),
        };
        if !(left.ty.fits(&right.ty) || right.ty.fits(&left.ty)) {
            let (a, b) = (self.name_of(&left.ty), self.name_of(&right.ty));
            let message = format!("{} and {} cannot be compared", article(&a), article(&b));
            if a == "null" || b == "null" {
                let other = if a == "null" { b } else { a };
                self.error(at, message, format!("{} is never null", article(&other)));
            } else {
                self.error(at, message, "they are never equal");
            }
            return None;
        }
        if let (Some(a), Some(b)) = (constant(&left), constant(&right)) {
            return Some(word(i64::from((a == b) != ne), Type::Bool));
        }
        let kind =
            ExprKind::Binary { op, left: Box::new(left), right: Box::new(right), site: crate::lang::program::NO_SITE };
        Some(Expr::new(kind, Type::Bool))
    }

    /// Evaluates a constant of the given type.
    pub(super) fn constant_of(&mut self, e: &ast::Expr, wanted: &Type, what: &str) -> Option<i64> {
        let value = self.in_mode(Mode::Const, |c| c.expr_of(e, wanted, what))?;
        let value = constant(&value);
        debug_assert!(value.is_some() || self.problems.count() > 0, "only constants are lowered in this mode");
        value
    }

    /// Evaluates a constant int in the range `least..=most`.
    pub(super) fn constant_between(&mut self, e: &ast::Expr, what: &str, least: i64, most: u64) -> Option<i64> {
        let value = self.constant_of(e, &Type::Int, what)?;
        if value < least || u64::try_from(value).is_ok_and(|v| v > most) {
            let message = format!("{what} cannot be {value}");
            self.error(e.at, message, format!("it must lie between {least} and {most}"));
            return None;
        }
        Some(value)
    }
}

/// Returns a type name with its article: "an int"
pub(super) fn article(name: &str) -> String {
    if matches!(name, "null" | "nothing") {
        return format!("`{name}`");
    }
    let an = name.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O']);
    format!("{} `{name}`", if an { "an" } else { "a" })
}
