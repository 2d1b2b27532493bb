//! Runs the check of every reader of foreign bytes (`tests/fuzz`) on its fuzzing corpus, and on truncated and changed
//! inputs, so that `cargo test` covers these properties.

#[path = "../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "it is a library for its targets")]
mod readers;

use raceflip::base::Rng;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz").join(name)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let all = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns the corpus of a reader, in the order of names.
fn corpus(reader: &str) -> Vec<(String, Vec<u8>)> {
    let at = folder("corpus").join(reader);
    names(&at).into_iter().map(|name| (name.clone(), fs::read(at.join(&name)).unwrap())).collect()
}

#[test]
fn every_reader_has_a_target_and_a_corpus() {
    let readers: BTreeSet<String> = readers::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    let targets = names(&folder("fuzz_targets")).into_iter().map(|file| file.replace(".rs", ""));
    assert_eq!(targets.collect::<BTreeSet<_>>(), readers);
    assert_eq!(names(&folder("corpus")), readers);
    let mut bytes = 0;
    for reader in &readers {
        let all = corpus(reader);
        assert!(all.len() >= 5, "{reader} has only {} inputs", all.len());
        bytes += all.iter().map(|(_, input)| input.len()).sum::<usize>();
    }
    assert!(bytes < 1 << 20, "{bytes} bytes: `MERGE=1 tests/fuzz/run` makes it small");
}

#[test]
fn readers_stand_their_corpus() {
    for (reader, check) in readers::ALL {
        for (name, input) in corpus(reader) {
            println!("{reader}/{name}");
            check(&input);
        }
    }
}

/// The checks hold on random mutations of the corpus, without the feedback of a fuzzer: two inputs are spliced, and
/// bytes are changed, removed and repeated.
#[test]
fn readers_stand_inputs_like_those_of_their_corpus() {
    const INPUTS: u32 = 150;
    for (reader, check) in readers::ALL {
        let (all, mut rng) = (corpus(reader), Rng::seeded(15));
        for _ in 0..INPUTS {
            let input = changed(&all, &mut rng);
            println!("{reader}: {}", input.escape_ascii());
            check(&input);
        }
    }
}

fn changed(all: &[(String, Vec<u8>)], rng: &mut Rng) -> Vec<u8> {
    let mut some = || all[rng.below(all.len() as u32) as usize].1.clone();
    let (one, other) = (some(), some());
    let mut at = |bytes: &[u8]| rng.below(bytes.len() as u32 + 1) as usize;
    let mut input = [&one[..at(&one)], &other[at(&other)..]].concat();
    for _ in 0..at(&[0; 3]) {
        let (from, to) = (at(&input), at(&input));
        match at(&[0; 2]) {
            0 if from < to => drop(input.drain(from..to)),
            1 => {
                if let Some(byte) = input.get_mut(from) {
                    *byte = at(&[0; 255]) as u8;
                }
            }
            _ => {
                let copy = input[from.min(to)..from.max(to)].to_vec();
                input.splice(from..from, copy);
            }
        }
    }
    input
}
