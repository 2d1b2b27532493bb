//! Fuzzes journals of learning campaigns, once as they are and once with corrected checksums. A campaign goes on from
//! whatever can be read.

use raceflip::campaign::{CampaignContext, CampaignPlan, FuzzPlan, FuzzStart, NoProgress, fuzz_from};
use raceflip::formats::fuzz_journal::{FuzzHeader, read, text};
use raceflip::vm::Model;
use std::sync::atomic::AtomicBool;
use xxhash_rust::xxh3::xxh3_64;

/// The model of the journals.
const MODEL: &str =
    "var x = 0; lock l; thread a { sync l { x = 1 }; if * { x = 2 } }; thread b { sync l { assert x != 1 } }";

/// Checks the reader on these bytes, and on their lines with correct checksums in front and the header of the model.
pub fn check(bytes: &[u8]) {
    let model = Model::from_text("journal.race", MODEL, &[]).expect("a model");
    let plan = CampaignPlan::new(&model);
    let header = FuzzHeader::new(&plan, &[]);
    go_on(bytes, &plan, &header);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let line = |json: &str| {
            let json = json.split_once(' ').filter(|(sum, _)| sum.len() == 16).map_or(json, |(_, json)| json);
            format!("{:016x} {json}\n", xxh3_64(json.as_bytes()))
        };
        let state: String = text.lines().skip(1).map(line).collect();
        go_on((header.to_line() + &state).as_bytes(), &plan, &header);
    }
}

fn go_on(bytes: &[u8], plan: &CampaignPlan, header: &FuzzHeader) {
    match read(bytes, header) {
        Ok(Some(memory)) => {
            let written = text(header, &memory);
            let again = read(written.as_bytes(), header).expect("what was written is a journal");
            assert_eq!(again.map(|memory| text(header, &memory)), Some(written));
            let stop = AtomicBool::new(false);
            let context = CampaignContext { stop: &stop, progress: &NoProgress };
            // A number of runs that the command line allows.
            let runs = memory.runs.min(1 << 40) + 4;
            let (fuzz, start) =
                (FuzzPlan { runs, keeps_going: true }, FuzzStart { memory: Some(memory), ..FuzzStart::default() });
            if let Err(error) = fuzz_from(plan, &fuzz, start, context) {
                super::is_told(&error.to_string());
            }
        }
        Ok(None) => {}
        Err(error) => super::is_told(&error),
    }
}
