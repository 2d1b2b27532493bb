//! Tests of searches with stubborn sets: their ends are those of searches of all states (`reduced_compare`).

use crate::agree::search;
use crate::reduced_compare::{Sizes, compare_models, compare_reduced};
use raceflip::explore::{SearchPlan, Stubbornness};

/// The generators of models, with the number of models of each in a test run and in the long one, and the bound on
/// the states of a model.
type Generators = [((&'static str, fn(u64) -> String), u64, u64, u64); 5];

const GENERATORS: Generators = [
    (("small", crate::small::model), 150, 1_500, 2_000),
    (("truth", crate::truth_models::model), 60, 500, 3_000),
    (("nested", crate::ring_models::nested), 60, 500, 3_000),
    (("ring", crate::ring_models::ring), 60, 500, 3_000),
    (("shared", crate::reduced_models::model), 300, 3_000, 5_000),
];

#[test]
fn reduced_searches_find_the_same_ends() {
    for (made, count, _, most) in GENERATORS {
        let sum = compare_models(made, 0..count, most);
        assert!(sum.models > count / 2, "{}: {sum:?}", made.0);
    }
}

/// A workload of the benchmarks: its name and its constants.
type Workload = (&'static str, &'static [(&'static str, i64)]);

fn workload((name, defines): Workload) -> raceflip::vm::Model {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("benches/models/explore/{name}.race"));
    let defines: Vec<(String, i64)> = defines.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    crate::load::load(&path, &defines)
}

fn reduced_states(of: Workload) -> u64 {
    let model = workload(of);
    search(&SearchPlan { stubborn: Some(Stubbornness::default()), ..SearchPlan::new(&model) }).states
}

/// The workloads of the benchmarks have few states, and their ends at small sizes are the same.
#[test]
fn workloads_have_few_states() {
    let sizes: [(Workload, u64); 5] = [
        (("philosophers", &[("N", 12)]), 367),
        (("tasks", &[("N", 9)]), 829),
        (("threads", &[("N", 11)]), 34),
        (("buffer", &[("N", 2), ("SLOTS", 3)]), 1_954),
        (("readers", &[("N", 5)]), 58),
    ];
    assert_eq!(sizes.map(|(of, _)| (of, reduced_states(of))), sizes);
    let small: [Workload; 6] = [
        ("philosophers", &[("N", 4)]),
        ("tasks", &[("N", 3)]),
        ("threads", &[("N", 4)]),
        ("buffer", &[("N", 1)]),
        ("readers", &[("N", 2)]),
        ("peterson", &[("N", 2)]),
    ];
    for of in small {
        let model = workload(of);
        let observe = model.program.globals.ids().collect();
        let compared = compare_reduced(&model, observe, 20_000).expect("few states");
        assert!(compared.is_ok(), "{of:?}: {compared:?}");
    }
}

#[test]
#[ignore = "takes a minute in a debug build"]
fn a_large_buffer_has_fewer_states() {
    assert_eq!(reduced_states(("buffer", &[("N", 3), ("SLOTS", 5)])), 303_486);
}

/// Every variant of every harness with few states has the same ends.
#[test]
fn reduced_searches_of_harnesses_find_the_same_ends() {
    let (mut sum, mut wrong) = (Sizes::default(), Vec::new());
    for (path, defines) in crate::complete::all_variants() {
        let model = crate::load::load(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(&path), &defines);
        match compare_reduced(&model, raceflip::campaign::named(&model.program), 3_000) {
            None => {}
            Some(Ok(sizes)) => sum.add(sizes),
            Some(Err(difference)) => wrong.push(format!("{path} {defines:?}: {difference}")),
        }
    }
    println!("{sum:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(sum.models > 200 && sum.smaller > 50, "{sum:?}");
}

#[test]
#[ignore = "takes minutes: cargo test --release --test it reduced -- --ignored --nocapture"]
fn reduced_searches_of_five_thousand_models_find_the_same_ends() {
    let mut models = 0;
    for (made, _, count, most) in GENERATORS {
        models += compare_models(made, 0..count, most).models;
    }
    assert!(models >= 5_000, "{models}");
}
