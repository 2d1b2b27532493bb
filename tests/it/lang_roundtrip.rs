//! Tests that `parse(print(tree)) == tree` for random trees of every construct, with names that are words of the
//! language in other places.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use raceflip::lang::ast::*;
use raceflip::lang::{Source, parse, print, render};

/// Names that are words of the language in other places, and a few ordinary names.
const NAMES: [&str; 70] = [
    "x",
    "y",
    "f",
    "count",
    "A",
    "register",
    "idle",
    "handler",
    "field",
    "next",
    "queue",
    "quit",
    "send",
    "state",
    "up",
    "down",
    "timer",
    "main",
    "from",
    "to",
    "item",
    "use",
    "sleep",
    "join",
    "delete",
    "post",
    "fork",
    "wait",
    "fence",
    "spawn",
    "looper",
    "on",
    "after",
    "at",
    "front",
    "async",
    "as",
    "with",
    "safely",
    "cancel",
    "launch",
    "detached",
    "now",
    "choose",
    "job",
    "all",
    "any",
    "enable",
    "attach",
    "skip",
    "yield",
    "read",
    "write",
    "transaction",
    "scope",
    "supervise",
    "uncancellable",
    "start",
    "task",
    "thread",
    "init",
    "expect",
    "race",
    "no",
    "of",
    "real",
    "initially",
    "prefer",
    "ok",
    "failure",
];

fn text() -> impl Strategy<Value = TextLiteral> {
    prop_oneof![
        any::<String>(),
        select(vec!["", "a \"b\" \\ c", "\n\r\t", "// no comment", "{ ( ["]).prop_map(str::to_owned)
    ]
    .prop_map(|text| TextLiteral { text, at: At::default() })
}

fn word() -> impl Strategy<Value = String> {
    select(NAMES.to_vec()).prop_map(str::to_owned)
}

pub(crate) fn name() -> impl Strategy<Value = Name> {
    word().prop_map(|text| Name { text, at: At::default() })
}

fn e(kind: ExprKind) -> Expr {
    Expr { kind, at: At::default() }
}

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        (0..=i64::MAX).prop_map(ExprKind::Int),
        (0..20i64).prop_map(ExprKind::Int),
        Just(ExprKind::Int(i64::MIN)),
        text().prop_map(|text| ExprKind::Str(text.text)),
        any::<bool>().prop_map(ExprKind::Bool),
        Just(ExprKind::Null),
        Just(ExprKind::SelfThread),
        Just(ExprKind::This),
        name().prop_map(ExprKind::New),
        word().prop_map(ExprKind::Name),
        word().prop_map(ExprKind::Name),
        word().prop_map(|name| ExprKind::Plain(Box::new(e(ExprKind::Name(name))))),
        Just(ExprKind::Op(Box::new(Op::SpawnLooper))),
        Just(ExprKind::Op(Box::new(Op::SpawnScope))),
    ]
    .prop_map(e)
}

fn instance(inner: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = InstanceName> {
    prop_oneof![
        text().prop_map(InstanceName::Name),
        // A string in this place parses as a name, so it is excluded.
        inner
            .prop_filter("a name", |expr| !matches!(expr.kind, ExprKind::Str(_)))
            .prop_map(|expr| InstanceName::Expr(Box::new(expr))),
    ]
}

const MODES: [TaskMode; 4] = [TaskMode::Plain, TaskMode::Async, TaskMode::AsyncDaemon, TaskMode::AsyncMicro];

fn launch_words(inner: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = LaunchWords> {
    let owner = (any::<bool>(), option::of(inner.clone()));
    (option::of(inner), any::<bool>(), owner).prop_map(|(on, now, (detached, within))| LaunchWords {
        now: now && on.is_none(),
        on,
        detached: detached && within.is_none(),
        within,
    })
}

fn op(inner: impl Strategy<Value = Expr> + Clone + 'static) -> impl Strategy<Value = Op> {
    let time = prop_oneof![
        Just(PostTimeAst::Now),
        inner.clone().prop_map(PostTimeAst::After),
        Just(PostTimeAst::Front),
        inner.clone().prop_map(PostTimeAst::At),
        Just(PostTimeAst::Micro),
        Just(PostTimeAst::OrNow),
        any::<bool>().prop_map(|keep| PostTimeAst::Idle { keep }),
    ];
    let options = (option::of(inner.clone()), option::of(inner.clone()), any::<bool>());
    let options = options.prop_map(|(with, every, daemon)| Box::new(PostOptionsAst { with, every, daemon }));
    let named = option::of(instance(inner.clone()));
    let post = (name(), vec(inner.clone(), 0..3), inner.clone(), time, any::<bool>(), options, named);
    prop_oneof![
        post.prop_map(|(task, args, target, time, is_async, options, instance)| Op::Post {
            object: None,
            task,
            args,
            target,
            time,
            is_async,
            options,
            instance
        }),
        inner.clone().prop_map(|message| Op::Cancel { message }),
        (name(), vec(inner.clone(), 0..3)).prop_map(|(task, args)| Op::Fork { task, args }),
        (name(), vec(inner.clone(), 0..3), launch_words(inner.clone())).prop_map(|(task, args, words)| Op::Launch {
            task,
            args,
            words
        }),
        inner.clone().prop_map(|target| Op::Fence { target }),
        inner.clone().prop_map(|target| Op::HandlerOn { target }),
        (inner.clone(), option::of(inner.clone()), option::of(inner.clone()))
            .prop_map(|(object, with, timeout)| Op::Wait { object, with, timeout }),
        (inner.clone(), inner.clone()).prop_map(|(semaphore, timeout)| Op::Down { semaphore, timeout }),
        inner.clone().prop_map(|channel| Op::Receive { channel }),
        (inner.clone(), inner.clone()).prop_map(|(from, to)| Op::Choose(Range { from, to })),
        (all_of(SyncMode::WORDS), inner.clone(), inner.clone()).prop_map(|(mode, object, timeout)| Op::Acquire {
            mode,
            object,
            timeout
        }),
        (inner.clone(), option::of(inner)).prop_map(|(cond, timeout)| Op::Await { cond, timeout }),
    ]
}

pub(crate) fn expr() -> BoxedStrategy<Expr> {
    leaf()
        .prop_recursive(4, 24, 3, |inner| {
            let boxed = inner.clone().prop_map(Box::new);
            let operators = BinaryOp::WORDS.iter().map(|&(_, op)| op).collect::<Vec<_>>();
            prop_oneof![
                (name(), vec(inner.clone(), 0..3)).prop_map(|(name, args)| ExprKind::Call { name, args }),
                (boxed.clone(), name()).prop_map(|(object, name)| ExprKind::Field { object, name }),
                (boxed.clone(), name(), vec(inner.clone(), 0..3)).prop_map(|(object, name, args)| ExprKind::Method {
                    object,
                    name,
                    args
                }),
                (boxed.clone(), boxed.clone()).prop_map(|(object, index)| ExprKind::Index { object, index }),
                (select(vec![UnaryOp::Not, UnaryOp::Neg]), boxed.clone())
                    .prop_map(|(op, operand)| ExprKind::Unary { op, operand }),
                (select(operators), boxed.clone(), boxed).prop_map(|(op, left, right)| ExprKind::Binary {
                    op,
                    left,
                    right
                }),
                op(inner).prop_map(|op| ExprKind::Op(Box::new(op))),
            ]
            .prop_map(e)
        })
        .boxed()
}

fn place() -> impl Strategy<Value = Expr> {
    prop_oneof![
        word().prop_map(ExprKind::Name),
        (expr().prop_map(Box::new), name()).prop_map(|(object, name)| ExprKind::Field { object, name }),
        (expr().prop_map(Box::new), expr().prop_map(Box::new))
            .prop_map(|(object, index)| ExprKind::Index { object, index }),
    ]
    .prop_map(e)
}

fn effect() -> impl Strategy<Value = Expr> {
    prop_oneof![
        (name(), vec(expr(), 0..3)).prop_map(|(name, args)| ExprKind::Call { name, args }),
        (expr().prop_map(Box::new), name(), vec(expr(), 0..3)).prop_map(|(object, name, args)| ExprKind::Method {
            object,
            name,
            args
        }),
        // A whole statement that cancels a message is `CancelOne`.
        op(expr())
            .prop_filter("a statement of its own", |op| !matches!(op, Op::Cancel { .. }))
            .prop_map(|op| ExprKind::Op(Box::new(op))),
    ]
    .prop_map(e)
}

pub(crate) fn ty() -> impl Strategy<Value = Type> {
    // The type `job` has a form with brackets, which the name of a length could look like.
    let base = name().prop_filter("no job", |name| name.text != "job").prop_map(BaseType::Name);
    let sized = |(base, lengths)| Type { base, lengths, at: At::default() };
    (base, vec(expr(), 0..2)).prop_map(sized).prop_recursive(3, 4, 1, move |inner| {
        let of = (inner.prop_map(Box::new), any::<bool>());
        let of = of.prop_map(|(inner, list)| if list { BaseType::List(inner) } else { BaseType::Channel(inner) });
        (of, vec(expr(), 0..2)).prop_map(sized)
    })
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![expr().prop_map(Value::Expr), vec(expr(), 0..3).prop_map(|all| Value::List(all, At::default()))]
}

pub(crate) fn field() -> impl Strategy<Value = Field> {
    (name(), option::of(ty()), option::of(value())).prop_map(|(name, ty, value)| Field { name, ty, value })
}

fn range() -> impl Strategy<Value = Range> {
    (expr(), expr()).prop_map(|(from, to)| Range { from, to })
}

fn cond() -> impl Strategy<Value = Cond> {
    prop_oneof![Just(Cond::Star(At::default())), expr().prop_map(Cond::Expr)]
}

fn all_of<T: Copy + std::fmt::Debug>(words: &'static [(&'static str, T)]) -> impl Strategy<Value = T> {
    select(words).prop_map(|(_, member)| member)
}

fn simple() -> impl Strategy<Value = StmtKind> {
    use StmtKind::*;
    let assigning = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem].to_vec();
    let args = || vec(expr(), 0..3);
    prop_oneof![
        field().prop_map(Let),
        (place(), option::of(select(assigning)), value()).prop_map(|(place, op, value)| Assign { place, op, value }),
        effect().prop_map(Expr),
        select(vec![LoopQueue, Break, Continue, Skip, Yield, AttachQueue]),
        option::of(expr()).prop_map(Return),
        (expr(), option::of(text())).prop_map(|(cond, message)| Assert { cond, message }),
        text().prop_map(|message| Fail { message }),
        (name(), option::of(text())).prop_map(|(name, message)| Throw { name, message }),
        (all_of(raceflip::lang::ast::Verb::WORDS), expr()).prop_map(|(verb, operand)| Verb { verb, operand }),
        (place(), expr()).prop_map(|(channel, value)| Send { channel, value }),
        (any::<bool>(), select(vec![SyncMode::Read, SyncMode::Write]), place())
            .prop_map(|(acquire, mode, object)| Side { acquire, mode, object }),
        (expr(), any::<bool>()).prop_map(|(target, safely)| Quit { target, safely }),
        expr().prop_map(Switch),
        expr().prop_map(CancelOne),
        // `cancel all` cancels everything, so it cannot cancel a task named `all`.
        (option::of(name().prop_filter("a word there", |name| name.text != "all")), option::of(expr()), expr())
            .prop_map(|(task, with, target)| Cancel { task, with, target }),
        (name(), args(), option::of(instance(expr()))).prop_map(|(event, args, instance)| Enable {
            event,
            args,
            instance
        }),
        name().prop_map(|event| Disable { event }),
        (name(), name()).prop_map(|(task, listener)| Register { task, listener }),
        (name(), name()).prop_map(|(task, listener)| Unregister { task, listener }),
        (name(), args()).prop_map(|(listener, args)| Perform { listener, args }),
    ]
}

fn labelled(kind: impl Strategy<Value = StmtKind>) -> impl Strategy<Value = Stmt> {
    let label = (name(), option::of(text())).prop_map(|(name, from)| Label { name, from });
    (option::weighted(0.2, label), kind).prop_map(|(label, kind)| Stmt { label, kind, at: At::default() })
}

fn block_of(stmt: impl Strategy<Value = Stmt>) -> impl Strategy<Value = Block> {
    vec(stmt, 0..3).prop_map(|stmts| Block { stmts, at: At::default() })
}

fn stmt() -> impl Strategy<Value = Stmt> {
    labelled(simple().boxed()).prop_recursive(3, 12, 3, |inner| {
        let block = block_of(inner).boxed();
        let body = || block.clone();
        let if_ = (cond(), body(), option::of(body()), any::<bool>()).prop_map(|(cond, then, other, again)| {
            let other = other.map(|block| {
                let kind = StmtKind::If { cond: Cond::Star(At::default()), then: block.clone(), other: None };
                let stmt = Stmt { label: None, kind, at: At::default() };
                if again { Else::If(Box::new(stmt)) } else { Else::Block(block) }
            });
            StmtKind::If { cond, then, other }
        });
        let catch = (option::of(name()), body()).prop_map(|(name, body)| Catch { name, body });
        let over = prop_oneof![range().prop_map(Over::Range), expr().prop_map(Over::List)];
        labelled(prop_oneof![
            if_,
            (cond(), body()).prop_map(|(cond, body)| StmtKind::While { cond, body }),
            body().prop_map(|body| StmtKind::Loop { body }),
            (name(), over, body()).prop_map(|(name, over, body)| StmtKind::For { name, over, body }),
            (body(), vec(catch, 0..3), option::of(body())).prop_map(|(body, catch, finally)| {
                // A `try` without `catch` needs a `finally`.
                let finally = if catch.is_empty() { Some(finally.unwrap_or_default()) } else { finally };
                StmtKind::Try { body, catch, finally }
            }),
            (all_of(SyncMode::WORDS), expr(), body(), option::of((expr(), option::of(body())))).prop_map(
                |(mode, object, body, timed)| {
                    let (timeout, other) = timed.map_or((None, None), |(timeout, other)| (Some(timeout), other));
                    StmtKind::Sync { mode, object, timeout, body, other }
                }
            ),
            vec((select_kind(), body()).prop_map(|(kind, body)| SelectCase { kind, body, at: At::default() }), 0..4)
                .prop_map(|cases| StmtKind::Select { cases }),
            (option::of(text()), body()).prop_map(|(name, body)| StmtKind::Transaction { name, body }),
            (select(raceflip::event::BlockKind::ALL.to_vec()), body())
                .prop_map(|(kind, body)| StmtKind::JobBlock { kind, body }),
        ])
    })
}

fn select_kind() -> impl Strategy<Value = SelectKind> {
    prop_oneof![
        (place(), option::of((name(), option::of(name())))).prop_map(|(channel, names)| {
            let (value, received) = names.map_or((None, None), |(value, received)| (Some(value), received));
            SelectKind::Receive { channel, value, received }
        }),
        (place(), expr()).prop_map(|(channel, value)| SelectKind::Send { channel, value }),
        expr().prop_map(SelectKind::After),
        Just(SelectKind::Else),
    ]
}

pub(crate) fn block() -> impl Strategy<Value = Block> {
    block_of(stmt())
}

pub(crate) fn params() -> impl Strategy<Value = Vec<Param>> {
    vec((name(), option::of(ty())).prop_map(|(name, ty)| Param { name, ty }), 0..3)
}

fn prop_() -> impl Strategy<Value = Prop> {
    expr().prop_map(Prop::Expr).prop_recursive(2, 3, 1, |inner| {
        (any::<bool>(), name(), range(), inner.prop_map(Box::new))
            .prop_map(|(all, name, range, prop)| Prop::Quantified { all, name, range, prop })
    })
}

fn reference() -> impl Strategy<Value = Ref> {
    (name(), option::of(all_of(AccessSelector::WORDS)), option::of(name())).prop_map(|(label, access, of)| Ref {
        label,
        access,
        of,
        at: At::default(),
    })
}

fn expectation() -> impl Strategy<Value = Expect> {
    let failure = || prop_oneof![text().prop_map(FailureName::Message), name().prop_map(FailureName::Name)];
    let word = prop_oneof![name(), Just(Name { text: "false".to_owned(), at: At::default() })];
    let outcome_value = expr()
        .prop_map(OutcomeValue::Expr)
        .prop_recursive(2, 4, 2, |inner| vec(inner, 0..3).prop_map(OutcomeValue::List));
    let kind = prop_oneof![
        select(vec![OutcomeSpecKind::Ok, OutcomeSpecKind::Deadlock, OutcomeSpecKind::Stuck]),
        failure().prop_map(OutcomeSpecKind::Failure),
    ];
    let outcome =
        (kind, option::of(outcome_value)).prop_map(|(kind, value)| OutcomeSpec { kind, value, at: At::default() });
    let transaction = prop_oneof![text().prop_map(TransactionName::Text), name().prop_map(TransactionName::Task)];
    prop_oneof![
        (any::<[bool; 2]>(), reference(), reference(), vec(word, 0..3))
            .prop_map(|([no, order], left, right, words)| Expect::Race { order, no, left, right, words }),
        (vec(reference(), 1..4), name()).prop_map(|(refs, word)| Expect::Order { refs, word }),
        (any::<bool>(), option::of(failure()), option::of(reference())).prop_map(|(no, what, site)| Expect::Failure {
            no,
            what,
            site
        }),
        any::<bool>().prop_map(|no| Expect::Deadlock { no }),
        any::<bool>().prop_map(|no| Expect::Stuck { no }),
        any::<bool>().prop_map(|no| Expect::Livelock { no }),
        (any::<bool>(), option::of(transaction), vec(name(), 0..3)).prop_map(|(no, name, words)| Expect::Atomicity {
            no,
            name,
            words
        }),
        (name(), name()).prop_map(|(first, second)| Expect::ExecutesBefore { first, second }),
        (expr(), option::of(expr())).prop_map(|(potential, real)| Expect::Races { potential, real }),
        (vec(name(), 0..3), vec(outcome, 1..4)).prop_map(|(of, outcomes)| Expect::Outcomes { of, outcomes }),
    ]
}

fn item() -> impl Strategy<Value = Item> {
    use ItemKind::*;
    let storage = || select(vec![Storage::Var, Storage::Atomic]);
    let things = prop_oneof![
        (text(), vec((name(), expr()), 0..3)).prop_map(|(title, settings)| App { title, settings }),
        (name(), option::of(range()), expr()).prop_map(|(name, range, value)| Const { name, range, value }),
        (name(), vec((name(), expr()), 0..3)).prop_map(|(library, settings)| Use { library, settings }),
        field().prop_map(State),
        (all_of(Storage::WORDS), field()).prop_map(|(storage, field)| Field { storage, field }),
        (name(), vec((storage(), field()), 0..3)).prop_map(|(name, fields)| Class { name, fields }),
        (all_of(LockKind::WORDS), name(), option::of(expr())).prop_map(|(kind, name, count)| Lock {
            kind,
            name,
            count
        }),
        (name(), option::of(name())).prop_map(|(name, prefer)| RwLock { name, prefer }),
        (name(), expr()).prop_map(|(name, value)| Semaphore { name, value }),
        (name(), expr()).prop_map(|(name, value)| Barrier { name, value }),
        (name(), expr()).prop_map(|(name, value)| Pool { name, value }),
        name().prop_map(|name| WaitGroup { name }),
        (name(), option::of(expr()), ty()).prop_map(|(name, count, of)| Channel { name, count, of }),
        (name(), name()).prop_map(|(name, looper)| Handler { name, looper }),
        (name(), params()).prop_map(|(name, params)| Listener { name, params }),
        (name(), select(vec![When::Always, When::AtEnd]), prop_()).prop_map(|(name, when, prop)| Property {
            name,
            when,
            prop
        }),
    ];
    let bodies =
        prop_oneof![
            (name(), option::of(block())).prop_map(|(name, body)| Looper { name, body }),
            (any::<bool>(), name(), option::of((name(), range())), block())
                .prop_map(|(daemon, name, each, body)| Thread { daemon, name, each, body }),
            (select(MODES.to_vec()), name(), params(), option::of(ty()), block())
                .prop_map(|(mode, name, params, result, body)| Task { mode, name, params, result, body }),
            (name(), params(), name(), option::of(expr()), block())
                .prop_map(|(name, params, looper, initially, body)| Event { name, params, looper, initially, body }),
            block().prop_map(|body| Init { body }),
        ];
    let expects = (expectation(), option::of(expr())).prop_map(|(expect, condition)| Expect { expect, condition });
    prop_oneof![1 => things, 2 => bodies, 1 => expects].prop_map(|kind| Item { kind, at: At::default() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_survives_printing(items in vec(item(), 0..4)) {
        let tree = File { items };
        let printed = print(&tree);
        let source = Source::new("printed.race", &printed).unwrap();
        match parse(&source) {
            Ok(again) => prop_assert_eq!(again, tree, "{}", printed),
            Err(errors) => prop_assert!(false, "{}\n{}", printed, render(&source, &errors, false)),
        }
    }
}

/// Words after a channel, and names that are words there.
#[test]
fn operands_next_to_words_survive_printing() {
    for stmt in [
        "send c (fork f())",
        "send c (-x).y",
        "send c[f(1)].d (cancel m)",
        "send c f(1)",
        "send (wait) x",
        "send (handler) on",
        "cancel f with (handler) on main",
        "cancel (all)",
        "cancel all.x",
        "let m = cancel (all)",
    ] {
        let text = format!("thread t {{\n    {stmt}\n}}\n");
        let source = Source::new("a.race", &text).unwrap();
        let tree = parse(&source).unwrap_or_else(|errors| panic!("{}", render(&source, &errors, false)));
        assert_eq!(print(&tree), text);
    }
}
