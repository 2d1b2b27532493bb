//! Tests of searches with stubborn sets: their ends are those of searches of all states (`reduced_compare`).

use crate::reduced_compare::{Sizes, compare_models, compare_reduced};

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
