//! Fuzzes the results of campaigns that `merge` reads: they are refused, or they merge, print as they were read, and
//! render in every report format.

use raceflip::formats::campaign::ConfirmReport;
use raceflip::formats::campaigns::CampaignReport;
use raceflip::formats::gate::{GateFailure, GateReport};
use raceflip::formats::report::{CommandEnd, NoReplays, github, junit, markdown, sarif};

/// Checks the reader of campaign results on these bytes.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let report = match CampaignReport::from_json(text) {
        Ok(report) => report,
        Err(error) => return super::is_told(&error),
    };
    let again = CampaignReport::from_json(&report.to_json()).expect("what was written is one");
    assert_eq!(again, report);
    let part = |name: &str| (name.to_owned(), report.clone());
    match CampaignReport::merged(vec![part("one.json")]) {
        Ok(whole) => {
            assert!(!whole.complete || whole.results.len() as u64 == whole.variants);
            render(&whole);
        }
        Err(error) => super::is_told(&error),
    }
    // A variant may have only one result, so merging a report with itself must fail.
    let twice = CampaignReport::merged(vec![part("one.json"), part("two.json")]);
    assert!(report.results.is_empty() || twice.is_err());
}

fn render(whole: &CampaignReport) {
    let reports: Vec<ConfirmReport> = whole.results.iter().map(|r| r.report.clone()).collect();
    let failure = GateFailure { on: "limits".to_owned(), count: 1, why: "what comes after is not known".to_owned() };
    let gate = GateReport::new(vec!["limits".to_owned()], false, vec![failure]);
    let end = CommandEnd { gate: Some(gate), exit: Some(1), unread: vec!["error: <![CDATA[\nno file".to_owned()] };
    for render in [github::render, junit::render, markdown::render] {
        render(&reports, &end, &mut NoReplays);
    }
    let _ = sarif::render(&reports, &end, &mut NoReplays);
}
