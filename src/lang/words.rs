//! The words and operators of the language, shared by the parser, the printer and the checker.

use super::ast::{AccessSelector, BinaryOp, LockKind, Storage, SyncMode, Verb};

/// The reserved words, which are never names. Every other word is a name wherever a name is allowed.
pub const RESERVED: [&str; 24] = [
    "if", "else", "while", "for", "in", "loop", "break", "continue", "return", "let", "new", "null", "true", "false",
    "this", "self", "assert", "await", "fail", "throw", "try", "catch", "finally", "sync",
];

/// The words that begin an item.
pub const ITEMS: [&str; 29] = [
    "app",
    "const",
    "var",
    "atomic",
    "let",
    "class",
    "lock",
    "mutex",
    "condition",
    "rwlock",
    "semaphore",
    "barrier",
    "waitgroup",
    "channel",
    "looper",
    "pool",
    "handler",
    "listener",
    "daemon",
    "thread",
    "async",
    "task",
    "event",
    "init",
    "property",
    "expect",
    "use",
    "kind",
    "state",
];

/// A statement about messages and jobs, which may also be a verb of a kind. The type of its operand decides.
pub(super) const CANCEL: &str = "cancel";

/// The words that begin a statement, except verbs. Used for suggestions.
pub const STATEMENTS: [&str; 42] = [
    "let",
    "if",
    "while",
    "loop",
    "for",
    "break",
    "continue",
    "return",
    "assert",
    "fail",
    "throw",
    "try",
    "sync",
    "read",
    "write",
    "transaction",
    "skip",
    "yield",
    "attach",
    "quit",
    "cancel",
    "enable",
    "disable",
    "register",
    "unregister",
    "perform",
    "ask",
    "withdraw",
    "choose",
    "post",
    "fork",
    "fence",
    "wait",
    "await",
    "send",
    "recv",
    "select",
    "launch",
    "switch",
    "scope",
    "supervise",
    "uncancellable",
];

/// The words that begin an expectation, after `expect` and `no`.
pub const EXPECTATIONS: [&str; 9] =
    ["race", "order", "failure", "deadlock", "stuck", "livelock", "atomicity", "outcomes", "races"];

/// The names of the built-in types.
pub const TYPES: [&str; 20] = [
    "int",
    "bool",
    "Object",
    "thread",
    "looper",
    "pool",
    "handler",
    "lock",
    "mutex",
    "condition",
    "rwlock",
    "semaphore",
    "barrier",
    "fence",
    "message",
    "request",
    "waitgroup",
    "channel",
    "job",
    "list",
];

/// The words that occur inside items, statements and expectations.
pub const PARTICLES: [&str; 58] = [
    "after",
    "again",
    "all",
    "always",
    "any",
    "as",
    "asked",
    "async",
    "at",
    "before",
    "by",
    "callback",
    "conflated",
    "detached",
    "during",
    "end",
    "events",
    "every",
    "executes_before",
    "follows",
    "for",
    "from",
    "front",
    "harmful",
    "idle",
    "initially",
    "joint",
    "keep",
    "makes",
    "micro",
    "most",
    "never",
    "no",
    "none",
    "now",
    "of",
    "ok",
    "on",
    "or",
    "plain",
    "prefer",
    "queue",
    "readers",
    "real",
    "request",
    "safely",
    "scope",
    "single",
    "some",
    "stage",
    "to",
    "unit",
    "until",
    "verb",
    "violation",
    "when",
    "with",
    "writers",
];

/// Returns whether a statement or an item of the language begins with this word, so that a kind cannot have a verb of
/// this name. `cancel`, `choose`, `register` and `unregister` are exceptions: the type of the operand, or what follows
/// it, tells the two apart.
pub fn is_verb_word(word: &str) -> bool {
    let known = STATEMENTS.contains(&word) || Verb::from_word(word).is_some() || word == "plain";
    (known || is_reserved(word)) && !matches!(word, "cancel" | "choose" | "register" | "unregister")
}

/// Returns whether an item of the language begins with this word, so that a kind cannot have this name.
pub fn is_item_word(word: &str) -> bool {
    ITEMS.contains(&word) || is_reserved(word)
}

/// Returns whether this word is reserved, so that it is never a name.
pub fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// Defines the words of an enum: the table `WORDS` and the methods `word` and `from_word`.
macro_rules! words {
    ($type:ident: $($variant:ident = $word:literal),+ $(,)?) => {
        impl $type {
            /// The members with their words.
            pub const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];

            /// The word as written in a file.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Returns the member with this word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

words!(Verb:
    Use = "use", Delete = "delete", Lift = "lift", Join = "join", Interrupt = "interrupt", Acquire = "acquire",
    Release = "release", Notify = "notify", NotifyAll = "notify_all", Signal = "signal", SignalAll = "signal_all",
    Arrive = "arrive", Down = "down", Up = "up", Close = "close", Sleep = "sleep",
);
words!(LockKind: Lock = "lock", Mutex = "mutex", Condition = "condition");
words!(Storage: Var = "var", Atomic = "atomic", Let = "let");
words!(SyncMode: Sync = "sync", Read = "read", Write = "write");
words!(AccessSelector: Read = "read", Write = "write");
words!(BinaryOp:
    Or = "||", And = "&&", Eq = "==", Ne = "!=", Lt = "<", Le = "<=", Gt = ">", Ge = ">=", BitOr = "|", BitXor = "^",
    BitAnd = "&", Shl = "<<", Shr = ">>", Add = "+", Sub = "-", Mul = "*", Div = "/", Rem = "%",
);

/// Precedence levels of expressions. A larger number binds tighter.
pub mod precedence {
    /// `||`, which binds loosest.
    pub const OR: u8 = 1;
    /// The comparisons, which do not chain.
    pub const COMPARISON: u8 = 3;
    /// `!` and `-` before their operand.
    pub const UNARY: u8 = 10;
    /// Names, literals, calls, fields and indices, which bind tightest.
    pub const POSTFIX: u8 = 11;
}

impl BinaryOp {
    /// Returns the precedence of the operator. The order of the precedences is that of Rust.
    pub fn precedence(self) -> u8 {
        match self {
            Self::Or => precedence::OR,
            Self::And => 2,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => precedence::COMPARISON,
            Self::BitOr => 4,
            Self::BitXor => 5,
            Self::BitAnd => 6,
            Self::Shl | Self::Shr => 7,
            Self::Add | Self::Sub => 8,
            Self::Mul | Self::Div | Self::Rem => 9,
        }
    }

    /// Returns whether the operator has an assignment form `op=`.
    pub fn assigns(self) -> bool {
        matches!(self, Self::Add | Self::Sub | Self::Mul | Self::Div | Self::Rem)
    }
}
