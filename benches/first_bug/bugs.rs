//! Generates `docs/results/first_bug_models.md`: schedules to the failure in the models of real bugs, in their buggy
//! variants.

use crate::Effort;
use crate::runs::{Budget, SURW_OF_ONE, first_failures, load};
use crate::table::{columns, goals, head, row};
use crate::tally::{Tally, geometric_mean, number};
use crate::{campaign, learning, sctbench};
use std::path::Path;

const FOLDER: &str = "harnesses/bugs";

fn paths() -> Result<Vec<String>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let files = std::fs::read_dir(&folder).map_err(|e| format!("{FOLDER}: {e}"))?;
    let names = files.filter_map(|f| f.ok()?.file_name().into_string().ok()).filter(|n| n.ends_with(".race"));
    let mut paths: Vec<String> = names.map(|n| format!("{FOLDER}/{n}")).collect();
    paths.sort();
    Ok(paths)
}

struct Row {
    path: String,
    title: String,
    // Tallies of `confirm`, of `fuzz`, then of the strategies.
    tallies: Vec<Tally>,
}

/// The strategies besides `confirm`: the name on the page, and the name on the command line.
const STRATEGIES: [(&str, &str); 3] = [("random walk", "random"), ("PCT-3", "pct:3"), ("SURW", SURW_OF_ONE)];

/// Counts all models and returns the page.
///
/// # Errors
///
/// A model cannot be loaded, or a strategy cannot be made.
pub(crate) fn page(effort: Effort) -> Result<String, String> {
    let budget = Budget::all(effort.seeds, effort.cap);
    let mut rows = Vec::new();
    for path in paths()? {
        let model = load(&path, &[])?;
        let mut tallies = vec![campaign::first_failures(&model, budget), learning::first_failures(&model, budget)];
        for (_, strategy) in STRATEGIES {
            tallies.push(first_failures(&model, strategy, budget)?);
        }
        rows.push(Row { path, title: model.program.title.clone(), tallies });
    }
    Ok(written(&rows, effort))
}

fn written(rows: &[Row], effort: Effort) -> String {
    let mut out = head("Schedules to the failure: models of real bugs", "bugs", &[]);
    out += &format!(
        "The {} models of [harnesses/bugs](../../harnesses/README.md#bugs), in their buggy variants. In each cell: in which schedule the app failed first, the mean of {} seeds, up to {} schedules \
         each; `(7/20)` is how many seeds found a failure at all, where not all did. {} {} {}\n\n",
        rows.len(),
        effort.seeds,
        indicatif::HumanCount(effort.cap),
        sctbench::CONFIRM,
        learning::FUZZ,
        sctbench::SURW,
    );
    out += &columns(&["model", "bug", "`confirm`", "`fuzz`", STRATEGIES[0].0, STRATEGIES[1].0, STRATEGIES[2].0]);
    for r in rows {
        let name = r.path.trim_start_matches("harnesses/bugs/").trim_end_matches(".race");
        let mut cells = vec![format!("[{name}](../../{})", r.path), r.title.replace('|', "\\|")];
        cells.extend(r.tallies.iter().map(Tally::mean_text));
        out += &row(&cells);
    }
    let failing: Vec<&Row> = rows.iter().filter(|r| r.tallies.iter().any(|t| t.found() > 0)).collect();
    let found = |i: usize| failing.iter().filter(|r| r.tallies[i].always()).count();
    out += &format!(
        "\n{} of the models fail in some schedule; the others are there because there is no race, or no harm ({}). Every seed finds the failure in {} of them by `confirm`, {} by `fuzz`, {} by random walks, {} by PCT-3, \
         {} by SURW.\n\n",
        failing.len(),
        "`messenger_debug`, for one",
        found(0),
        found(1),
        found(2),
        found(3),
        found(4),
    );
    out += &columns(&[
        "strategy",
        "geometric mean of schedules",
        "largest mean",
        "fewer schedules than `confirm` in",
        "more in",
    ]);
    for (i, name) in ["`confirm`", "`fuzz`"].into_iter().chain(STRATEGIES.map(|s| s.0)).enumerate() {
        let always: Vec<f64> = failing
            .iter()
            .filter(|r| r.tallies.iter().all(Tally::always))
            .filter_map(|r| r.tallies[i].mean())
            .collect();
        let most = failing.iter().filter_map(|r| r.tallies[i].mean()).fold(0.0, f64::max);
        let than = |less: bool| {
            let differs = |r: &&&Row| {
                let (own, confirm) = (mean_or_cap(&r.tallies[i]), mean_or_cap(&r.tallies[0]));
                if less { own < confirm } else { own > confirm }
            };
            failing.iter().filter(differs).count().to_string()
        };
        out += &row(&[
            name.to_owned(),
            geometric_mean(&always).map_or("–".to_owned(), number),
            number(most),
            than(true),
            than(false),
        ]);
    }
    let all = found(0) == failing.len();
    let fuzz: Vec<f64> = failing.iter().map(|r| mean_or_cap(&r.tallies[1])).collect();
    let fuzz = geometric_mean(&fuzz).unwrap_or(f64::INFINITY);
    out += "\n";
    out += &goals(&[
        (
            "`confirm` finds the failure of every model that has one, with every seed",
            format!("{} of {}", found(0), failing.len()),
            all,
        ),
        ("a geometric mean of 2 runs of `fuzz` at most, over all of them", number(fuzz), fuzz <= 2.0),
    ]);
    out
}

// Returns the mean for comparisons: a seed that found nothing counts with all its schedules.
fn mean_or_cap(tally: &Tally) -> f64 {
    let all = tally.firsts.iter().map(|n| n.unwrap_or(tally.cap) as f64);
    all.sum::<f64>() / tally.firsts.len() as f64
}
