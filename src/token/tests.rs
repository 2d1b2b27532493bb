//! Tokens: what is written is read, what is damaged is refused with a reason.

use super::*;
use proptest::prelude::*;

fn small() -> Token {
    let choice = |actor, argument, check, count| Scheduled { actor, argument, check, count };
    Token {
        program: 0x0123_4567_89ab_cdef,
        defines: vec![("FIXED".to_owned(), 1), ("N".to_owned(), -3)],
        limits: Limits { steps: 7, depth: 3, ..Limits::default() },
        strategy: "directed:@a~@b,patience=9".to_owned(),
        seed: u64::MAX,
        signature: "failure NullPointer onClick:2".to_owned(),
        schedule: Schedule {
            actors: vec![
                ActorName::Thread("main/onClick#1".to_owned()),
                ActorName::Event("back".to_owned()),
                ActorName::Clock,
                ActorName::Stop,
            ],
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

fn actor() -> impl Strategy<Value = ActorName> {
    prop_oneof![
        Just(ActorName::Clock),
        Just(ActorName::Stop),
        any::<String>().prop_map(ActorName::Thread),
        any::<String>().prop_map(ActorName::Event),
    ]
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let choice = (any::<prop::sample::Index>(), any::<(u64, bool, u8)>(), prop_oneof![Just(1), 1..=u64::MAX]);
    (prop::collection::vec(actor(), 1..5), prop::collection::vec(choice, 0..20)).prop_map(|(actors, choices)| {
        let choices = choices
            .into_iter()
            .map(|(actor, (argument, zero, check), count)| Scheduled {
                actor: actor.index(actors.len()) as u32,
                argument: if zero { 0 } else { argument },
                check,
                count,
            })
            .collect();
        Schedule { actors, choices }
    })
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

// The text of bytes that stand where a body stands, with the right length and checksum.
fn sealed(body: &[u8]) -> String {
    let mut whole = Writer::default();
    whole.number(body.len() as u64);
    let mut whole = whole.into_bytes();
    whole.extend(body);
    whole.extend((xxh3_64(body) as u32).to_le_bytes());
    format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&whole))
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
        let prefixed = format!("{PREFIX}{text}");
        prop_assert!(parse(&prefixed).is_err());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&bytes));
        prop_assert!(parse(&text).is_err());
        // With a right checksum the content itself is looked at; what is accepted is written as it means.
        if let Ok(token) = parse(&sealed(&bytes)) {
            prop_assert_eq!(parse(&token.to_string()), Ok(token));
        }
    }

    #[test]
    fn a_changed_body_is_read_or_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut body = small().body();
        let at = at.index(body.len());
        body[at] = byte;
        if let Ok(token) = parse(&sealed(&body)) {
            prop_assert_eq!(parse(&token.to_string()), Ok(token));
        }
    }
}

#[test]
fn every_cut_is_noticed() {
    let text = small().to_string();
    for length in 0..text.len() {
        let error = parse(&text[..length]).expect_err("it is cut");
        let fits = match length {
            0..4 => error == TokenError::Foreign,
            _ => matches!(error, TokenError::Truncated { missing, .. } if missing > 0),
        };
        assert!(fits, "{length}: {error:?}");
    }
    for length in 0..small().body().len() {
        let error = parse(&sealed(&small().body()[..length])).expect_err("its body is cut");
        assert!(matches!(error, TokenError::Malformed(_)), "{length}: {error:?}");
    }
}

#[test]
fn every_changed_character_is_noticed() {
    let text = small().to_string();
    for at in PREFIX.len()..text.len() {
        for c in ["A", "b", "-", "*", "é", " "] {
            let changed = format!("{}{c}{}", &text[..at], &text[at + 1..]);
            if changed != text {
                assert!(parse(&changed).is_err(), "{changed}");
            }
        }
    }
    assert!(parse(&format!("{text}AAAA")).is_err());
    assert_eq!(parse(&format!("  {text}\n")), Ok(small()));
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
    check(refused("rf2-AAAA"), "made by a newer raceflip (format rf2)");
    check(refused("rf1-AB=="), "character 7 of the token, '=',");
    check(with(|t| t.schedule.choices[0].actor = 4), "an actor that is not listed");
    check(with(|t| t.schedule.choices[0].count = 0), "made no times");
    let mut body = small().body();
    body[0] = SEMANTICS as u8 + 1;
    check(refused(&sealed(&body)), "made under semantics version 2");
    body[0] = SEMANTICS as u8;
    body.push(0);
    check(refused(&sealed(&body)), "something follows its end");
}
