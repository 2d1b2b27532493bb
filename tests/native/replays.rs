//! Every run replays from its token.

use crate::programs::{counter, crossed_locks, figure_2, late_reply, locked_counter, one_condition};
use crate::support::failure;
use raceflip::exec::{NoObserver, run};
use raceflip::native::{Checker, NativeProgram, thread};
use raceflip::sched::{RandomWalk, Replay, ScheduleRecorder};
use raceflip::token::Token;
use raceflip::world::{Limits, Program, signature};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

// Performs random runs of a program until they meet nothing new.
fn met(program: NativeProgram) -> NativeProgram {
    let mut program = program;
    loop {
        let mut machine = program.machine(Limits::default());
        for seed in 0..100 {
            run(&mut machine, &mut RandomWalk::new(), seed, &mut NoObserver, &AtomicBool::new(false));
        }
        match program.grown() {
            Some(grown) => program = grown,
            None => return program,
        }
    }
}

// Performs random runs, and replays each of them from the text of its token.
fn replays(f: impl Fn() + Send + Sync + 'static, runs: u64) {
    let never = AtomicBool::new(false);
    let program = met(NativeProgram::new("replays", f));
    let mut machine = program.machine(Limits::default());
    let mut again = program.machine(Limits::default());
    for seed in 0..runs {
        let mut recorder = ScheduleRecorder::new();
        let summary = run(&mut machine, &mut RandomWalk::new(), seed, &mut recorder, &never);
        let token = Token {
            program: program.digest(),
            defines: Vec::new(),
            limits: Limits::default(),
            strategy: "random".to_owned(),
            seed,
            signature: summary.outcome().map_or(String::new(), |outcome| signature(program.setup(), outcome)),
            schedule: recorder.schedule(&machine.world),
        };
        let read: Token = token.to_string().parse().unwrap();
        let mut replay = Replay::new(Arc::new(read.schedule));
        let replayed = run(&mut again, &mut replay, seed, &mut NoObserver, &never);
        assert_eq!(replayed, summary, "seed {seed}");
    }
}

#[test]
fn random_runs_replay_from_their_tokens() {
    replays(counter, 400);
    replays(locked_counter, 400);
    replays(crossed_locks, 400);
    replays(figure_2(5), 200);
    replays(late_reply, 300);
    replays(one_condition, 300);
}

#[test]
#[ignore = "the long version of the one above"]
fn ten_thousand_random_runs_replay_from_their_tokens() {
    for f in [counter as fn(), locked_counter, crossed_locks, late_reply, one_condition] {
        replays(f, 2_000);
    }
}

#[test]
fn a_failing_run_is_replayed_by_its_token_alone() {
    for f in [counter as fn(), crossed_locks, late_reply, one_condition] {
        let failure = failure(f);
        let again = Checker::new().name("test").replay(&failure.token, f).unwrap_err();
        assert_eq!((again.what.clone(), again.token.clone()), (failure.what.clone(), failure.token.clone()));
        // Of the headline alone the number differs.
        let rest = |text: &str| text.split_once('\n').unwrap().1.to_owned();
        assert_eq!(rest(&again.text), rest(&failure.text));
    }
}

#[test]
#[should_panic(expected = "the token belongs to another check")]
fn the_token_of_another_check_is_refused() {
    let token = failure(counter).token;
    let _ = Checker::new().name("other").replay(&token, counter);
}

#[test]
#[should_panic(expected = "because the code has changed")]
fn a_token_of_other_code_says_where_it_parts() {
    let token = failure(counter).token;
    let _ = Checker::new().name("test").replay(&token, || {
        thread::yield_now();
        counter();
    });
}

#[test]
#[should_panic(expected = "this is no token of a run")]
fn what_is_no_token_is_refused() {
    let _ = Checker::new().name("test").replay("rf1-no-token", counter);
}
