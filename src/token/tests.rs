//! Tests of tokens: a token reads back as what was written, and a damaged one is rejected with a reason.

use super::*;
use crate::base::mix;
use crate::sched::{ActorName, Names, ScheduledChoice};
use proptest::prelude::*;

fn small() -> Token {
    let choice = |actor, argument, check, count| ScheduledChoice { actor, argument, check, count };
    let mut names = Names::default();
    Token {
        program: 0x0123_4567_89ab_cdef,
        defines: vec![("FIXED".to_owned(), 1), ("N".to_owned(), -3)],
        limits: Limits { steps: 7, depth: 3, ..Limits::default() },
        strategy: "directed:@a~@b,patience=9".to_owned(),
        seed: u64::MAX,
        signature: "failure NullPointer onClick:2".to_owned(),
        schedule: Schedule {
            actors: vec![
                ActorName::Thread(names.add("main/onClick#1")),
                ActorName::Event("back".to_owned()),
                ActorName::Clock,
                ActorName::Stop,
            ],
            names,
            whole_checks: false,
            choices: vec![choice(0, 0, 1, 1), choice(1, 0, 255, 300), choice(2, 1 << 40, 0, 1), choice(3, 1, 7, 2)],
        },
    }
}

fn limits() -> impl Strategy<Value = Limits> {
    (any::<[u64; 3]>(), any::<[u32; 6]>()).prop_map(
        |([steps, time, local], [objects, threads, queue, list, depth, cells])| Limits {
            steps,
            time,
            objects,
            threads,
            queue,
            list,
            local,
            depth,
            cells,
        },
    )
}

// An actor: its kind, and its name as text.
fn actor() -> impl Strategy<Value = (u8, String)> {
    let deep = (1..80usize, 0..3usize).prop_map(|(n, end)| format!("t{}{}", "/a#1/b#2".repeat(n), "/c".repeat(end)));
    (0..4u8, prop_oneof![any::<String>(), any::<String>().prop_map(|s| format!("m/{s}")), deep])
}

// A schedule whose choices are repeated up to 300 times, so that both versions are written.
fn schedule() -> impl Strategy<Value = Schedule> {
    let choice = (any::<prop::sample::Index>(), any::<(u64, bool, u8)>(), prop_oneof![Just(1), 1..=u64::MAX]);
    let choices = prop::collection::vec(choice, 0..20);
    (prop::collection::vec(actor(), 1..5), choices, prop_oneof![Just(1), Just(2), 100..300usize]).prop_map(
        |(actors, choices, rounds)| {
            let mut names = Names::default();
            let mut actor = |(kind, name): (u8, String)| match kind {
                0 => ActorName::Clock,
                1 => ActorName::Stop,
                2 => ActorName::Thread(names.add(&name)),
                _ => ActorName::Event(name),
            };
            let actors: Vec<ActorName> = actors.into_iter().map(&mut actor).collect();
            let choices: Vec<ScheduledChoice> = choices
                .into_iter()
                .map(|(actor, (argument, zero, check), count)| ScheduledChoice {
                    actor: actor.index(actors.len()) as u32,
                    argument: if zero { 0 } else { argument },
                    check,
                    count,
                })
                .collect();
            let choices = std::iter::repeat_n(choices, rounds).flatten().collect();
            Schedule { names, actors, choices, whole_checks: false }
        },
    )
}

fn token() -> impl Strategy<Value = Token> {
    let defines = prop::collection::vec((any::<String>(), any::<i64>()), 0..3);
    (any::<(u64, u64, String, String)>(), defines, limits(), schedule()).prop_map(
        |((program, seed, strategy, signature), defines, limits, schedule)| Token {
            program,
            defines,
            limits,
            strategy,
            seed,
            signature,
            schedule,
        },
    )
}

// The text of a token with this body, with the right length and checksum.
fn sealed(body: &[u8]) -> String {
    let mut whole = ByteWriter::default();
    whole.number(body.len() as u64);
    let mut whole = whole.into_bytes();
    whole.extend(body);
    whole.extend((xxh3_64(body) as u32).to_le_bytes());
    format!("{}{}", PREFIXES[0], BASE64URL_NOPAD.encode(&whole))
}

fn sealed_second(body: &[u8]) -> String {
    sealed(body).replacen(PREFIXES[0], PREFIXES[1], 1)
}

fn parse(text: &str) -> Result<Token, TokenError> {
    text.parse()
}

proptest! {
    #[test]
    fn a_token_reads_as_what_it_was(token in token()) {
        prop_assert_eq!(parse(&token.to_string()), Ok(token));
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        prop_assert!(parse(&text).is_err());
        let prefixed = format!("{}{text}", PREFIXES[text.len() % 2]);
        prop_assert!(parse(&prefixed).is_err());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = format!("{}{}", PREFIXES[bytes.len() % 2], BASE64URL_NOPAD.encode(&bytes));
        prop_assert!(parse(&text).is_err());
        // With a right checksum the content itself is parsed. What is accepted must survive writing and reading.
        if let Ok(token) = parse(&sealed(&bytes)) {
            prop_assert_eq!(parse(&token.to_string()), Ok(token));
        }
    }

    #[test]
    fn a_changed_body_is_read_or_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut body = small().body_of_first();
        let at = at.index(body.len());
        body[at] = byte;
        if let Ok(token) = parse(&sealed(&body)) {
            prop_assert_eq!(parse(&token.to_string()), Ok(token));
        }
    }

    #[test]
    fn a_changed_body_of_version_2_is_read_or_refused(token in token(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut body = token.body_of_second(true).expect("it must be");
        prop_assert_eq!(parse(&sealed_second(&body)), Ok(token));
        let at = at.index(body.len());
        body[at] = byte;
        if let Ok(token) = parse(&sealed_second(&body)) {
            prop_assert_eq!(parse(&token.to_string()), Ok(token));
        }
    }

    #[test]
    fn what_repeats_is_read_as_it_was(bytes in prop::collection::vec(0..3u8, 0..300), rounds in 0..40usize) {
        let bytes = bytes.repeat(rounds);
        let mut w = ByteWriter::default();
        repeats::write(&bytes, &mut w);
        let written = w.into_bytes();
        prop_assert_eq!(repeats::read(&mut Reader::new(&written)), Ok(bytes));
    }
}

#[test]
fn every_cut_is_noticed() {
    let text = small().to_string();
    for length in 0..text.len() {
        let error = parse(&text[..length]).expect_err("it is cut");
        let fits = match length {
            0..4 => error == TokenError::Foreign,
            // The length field is cut off, too.
            4..7 if error == TokenError::Empty(PREFIXES[0]) => true,
            _ => matches!(error, TokenError::Truncated { missing, .. } if missing > 0),
        };
        assert!(fits, "{length}: {error:?}");
    }
    for length in 0..small().body_of_first().len() {
        let error = parse(&sealed(&small().body_of_first()[..length])).expect_err("its body is cut");
        assert!(matches!(error, TokenError::Malformed(_)), "{length}: {error:?}");
    }
}

const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The small token with signatures of different lengths, so that its last group of characters has each possible
/// length, and the same of version 2.
fn of_each_length() -> Vec<String> {
    let of = |length: usize, second: bool| {
        let mut token = small();
        token.signature = "s".repeat(length);
        if second { sealed_second(&token.body_of_second(true).expect("it is short")) } else { token.to_string() }
    };
    let all: Vec<String> = (10..13).flat_map(|length| [of(length, false), of(length, true)]).collect();
    for groups in [0, 2, 3] {
        assert!(all.iter().any(|text| (text.len() - 4) % 4 == groups), "{groups}");
    }
    all
}

/// No text but that of the token itself is read as the token: one character added, removed or replaced anywhere, and
/// up to eight added at the end.
#[test]
fn every_changed_character_is_noticed() {
    for text in of_each_length() {
        assert!(parse(&text).is_ok(), "{text}");
        let others = || ALPHABET.chars().chain(['*', '=', '.', '\u{e9}', '\u{200b}']);
        for at in 0..=text.len() {
            let (before, after) = text.split_at(at);
            for c in others() {
                let added = format!("{before}{c}{after}");
                assert!(parse(&added).is_err(), "{added}");
            }
            let Some(own) = after.chars().next() else { continue };
            let removed = format!("{before}{}", &after[1..]);
            assert!(parse(&removed).is_err(), "{removed}");
            for c in others().chain([' ']).filter(|c| *c != own) {
                let changed = format!("{before}{c}{}", &after[1..]);
                assert!(parse(&changed).is_err(), "{changed}");
            }
        }
    }
    let text = small().to_string();
    assert_eq!(parse(&format!("  {text}\n")), Ok(small()));
}

/// What follows a whole token is said to follow it, and a last character that cannot be the last one is damage, not a
/// missing end.
#[test]
fn what_follows_the_end_is_said() {
    for text in of_each_length() {
        for more in 1..9 {
            for c in ["A", "b", "_"] {
                let error = parse(&format!("{text}{}", c.repeat(more))).expect_err("something follows");
                // The unused bits of the last character are zero only if the character was the last one.
                let fits = error == TokenError::Followed(more) || error == TokenError::Damaged;
                assert!(fits, "{text} {c} {more}: {error:?}");
            }
            let error = parse(&format!("{text}{}", "A".repeat(more)));
            assert_eq!(error, Err(TokenError::Followed(more)), "{text} {more}");
        }
        let (rest, last) = text.split_at(text.len() - 1);
        for c in ALPHABET.chars().filter(|c| !last.starts_with(*c)) {
            assert_eq!(parse(&format!("{rest}{c}")), Err(TokenError::Damaged), "{text} {c}");
        }
    }
}

#[test]
fn what_is_wrong_is_said() {
    let with = |change: fn(&mut Token)| {
        let mut token = small();
        change(&mut token);
        parse(&token.to_string()).expect_err("it is wrong").to_string()
    };
    let check = |error: String, part: &str| assert!(error.contains(part), "no {part:?} in {error}");
    let refused = |text: &str| parse(text).expect_err("it is no token").to_string();
    check(refused(""), "starts with `rf1-`");
    check(refused("rf0-AAAA"), "this is not a replay token");
    check(refused("rf3-AAAA"), "made by a newer raceflip (format rf3)");
    check(refused("rf1-AB=="), "character 7 of the token, '=',");
    check(with(|t| t.schedule.choices[0].actor = 4), "an actor that is not listed");
    check(with(|t| t.schedule.choices[0].count = 0), "made no times");
    let mut body = small().body_of_first();
    body[0] = SEMANTICS as u8 + 1;
    check(refused(&sealed(&body)), "made under semantics version 2");
    body[0] = SEMANTICS as u8;
    body.push(0);
    check(refused(&sealed(&body)), "something follows its end");
}

#[test]
fn what_version_2_cannot_hold_is_refused() {
    let body = |stream: &[u8]| {
        let mut w = ByteWriter::default();
        small().head(&mut w);
        let mut body = w.into_bytes();
        body.extend(stream);
        parse(&sealed_second(&body)).expect_err("it cannot be read").to_string()
    };
    let check = |error: String, part: &str| assert!(error.contains(part), "no {part:?} in {error}");
    // A length of 2^35 bytes in an input of ten.
    check(body(&[0x80, 0x80, 0x80, 0x80, 0x80, 1, 1, 0, 0x80, 1]), "more than 32 MiB");
    check(body(&[20, 1, 0, 1, 2]), "a repeat of what is not there");
    check(body(&[20, 1, 0, 1, 0]), "a repeat of what is not there");
    check(body(&[5, 1, 0, 60, 1]), "more bytes than it says");
    check(body(&[5, 1, 0]), "it ends in the middle of a value");
}

#[test]
fn a_name_of_many_parts_is_refused() {
    let mut token = small();
    let name = token.schedule.names.add(&"/".repeat(MOST_PARTS as usize));
    token.schedule.actors[0] = ActorName::Thread(name);
    token.schedule.whole_checks = true;
    let error = parse(&token.to_string()).expect_err("too many parts").to_string();
    assert!(error.contains("more than 1,000,000 parts"), "{error}");
}

/// In a chain each thread is made by the previous one, so its n names have n * n / 2 parts. The token has only n.
#[test]
fn a_chain_takes_bytes_in_proportion_to_its_length() {
    let chain = |n: u32| {
        let mut token = small();
        let mut schedule = Schedule::default();
        let mut name = schedule.names.add("t");
        for i in 0..n {
            name = schedule.names.add_part(Some(name), "tick#1");
            name = schedule.names.add_part(Some(name), "work#1");
            schedule.actors.push(ActorName::Thread(name));
            // Check bytes that look random, so that they do not compress.
            let check = mix(u64::from(n), u64::from(i)) as u8;
            schedule.choices.push(ScheduledChoice { actor: i, argument: 0, check, count: 1 });
        }
        token.schedule = schedule;
        let text = token.to_string();
        assert!(text.starts_with(PREFIXES[1]));
        assert_eq!(parse(&text), Ok(token));
        text.len()
    };
    let (one, two, four) = (chain(2_000), chain(4_000), chain(8_000));
    assert!(two < 2 * one + one / 4 && four < 2 * two + two / 4, "{one} {two} {four}");
    assert!(one < 2_000 * 4, "{one}");
}

/// Tokens of version 1 with deep names are still read, and written in version 1 again.
#[test]
fn deep_names_of_version_1_stay_as_they_were() {
    let mut token = small();
    let name = token.schedule.names.add(&["p"; 40].join("/"));
    token.schedule.actors[0] = ActorName::Thread(name);
    token.schedule.keep_names();
    let second = token.to_string();
    assert!(second.starts_with(PREFIXES[1]));
    token.schedule.whole_checks = true;
    let first = token.to_string();
    assert!(first.starts_with(PREFIXES[0]));
    let read = parse(&first).expect("a token");
    assert_eq!((read.to_string(), &read), (first, &token));
    assert_eq!(parse(&second).map(|t| t.schedule.whole_checks), Ok(false));
}
