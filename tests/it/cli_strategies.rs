//! Tests of strategies on the command line: messages about them, and runs reproduced from tokens and seeds.

use crate::cli::{call, file, scratch, token};
use raceflip::sched::StrategySpec;

#[test]
fn the_help_has_the_syntax_of_each_strategy() {
    let syntax = "random, round-robin, pct[:DEPTH[,steps=N]], pctcp[:DEPTH[,steps=N]], delay[:DELAYS[,steps=N]], pos, surw[:SITE,...], directed:SITE~SITE[,patience=N][,visits=N/M], hold:SITE<SITE[<..][,..][,without=SITE][,way=N][,guided][,later=N][,ring][,profile=SEED], avoid:SITE,..., or asked:SITE>SITE[:random|:pos][,once][,pass=N][,patience=N]";
    assert_eq!(StrategySpec::syntax(), syntax);
    let help = call(&["run", "--help"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains(&format!("Strategy that makes the choices: {syntax}")), "{help}");
}

#[test]
fn runs_of_bounded_strategies_come_back() {
    let folder = scratch("strategies");
    let model = file(&folder, "m.race", "var x = 0\nthread a { x += 1 }\nthread b { x += 1 }");
    let check = |strategy: &str, printed: &str| {
        let run = call(&["run", &model, "--strategy", strategy, "--seed", "5"]);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{strategy}: {}", run.out);
        assert!(run.out.contains(&format!("\nstrategy {printed}, seed 5\n")), "{strategy}: {}", run.out);
        assert_eq!(call(&["run", &model, "--strategy", printed, "--seed", "5"]).out, run.out, "{strategy}");
        assert_eq!(call(&["replay", &model, &token(&run)]).out, run.out, "{strategy}");
    };
    // Without a number of steps, a strategy takes that of a round robin run, and its printed name contains it.
    check("pct", "pct:3,steps=4");
    check("pct:2", "pct:2,steps=4");
    check("delay", "delay:2,steps=4");
    check("delay:1,steps=9", "delay:1,steps=9");
    check("pctcp", "pctcp:3,steps=4");
    check("pctcp:2,steps=9", "pctcp:2,steps=9");
    check("pos", "pos");
    // The counts come from a round robin run, which each call repeats.
    check("surw", "surw");
    check("surw:3:12,2:12", "surw:3:12,2:12");
    for (strategy, says) in [
        ("pct:0", "`0` is not a number from 1 to 1000: use `pct:3`"),
        ("delay:1,k=2", "`k=2` is not a number of steps, at least 1: use `steps=1000`"),
        (
            "delays",
            "unknown strategy `delays`: use `random`, `round-robin`, `pct:3`, `pctcp:3`, `delay:2`, `pos`, `surw`, `surw:SITE,SITE`, `directed:SITE~SITE`, `hold:SITE<SITE`, `avoid:SITE,SITE` or `asked:SITE>SITE`\n",
        ),
        ("pctcp:x", "`x` is not a number from 1 to 1000: use `pctcp:3`"),
        ("surw:@nowhere", "no statement has the label `@nowhere`"),
        ("surw:a", "`a` is not a site"),
        ("directed:@a~@b,patience=x", "`x` is not a number of steps: use `patience=20000`"),
        ("directed:@a~@b,visits=4/0", "`4/0` is not how often two statements are visited: use `visits=40/3`"),
        ("directed:@a~@b,foo=1", "`foo=1` is no option of `directed`: use `patience=20000` or `visits=40/3`"),
        ("directed:@a~@b,guided", "`guided` is no option of `directed`: use `patience=20000` or `visits=40/3`"),
        (
            "hold:@a<@b,foo=1",
            "`foo=1` is no option of `hold`: use `SITE<SITE`, `without=SITE`, `way=2` (from 1), `guided`, `later=1`, `ring` or `profile=SEED`",
        ),
        ("explore", "`explore` draws no run"),
    ] {
        let run = call(&["run", &model, "--strategy", strategy]);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{strategy}");
        assert!(run.err.contains(says), "{strategy}: {}", run.err);
    }
}
