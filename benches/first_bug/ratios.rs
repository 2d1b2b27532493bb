//! Writes the comparable parts of `docs/results/first_bug.md`: the goals, ratios of strategies within one tool, and the
//! same programs under shuttle.

use crate::programs::SAFESTACK;
use crate::published::Published;
use crate::runs::SURW_OF_ONE;
use crate::sctbench::Row;
use crate::table::{self, columns, row};
use crate::tally::{Tally, geometric_mean, number};

/// Returns the section about the goals, and whether they are met.
pub(crate) fn goals(rows: &[Row], published: &Published) -> String {
    let theirs = |r: &&Row| ["rff", "surw"].iter().any(|c| published.number(r.program.name, c).is_some());
    let theirs: Vec<&Row> = rows.iter().filter(theirs).collect();
    let missed =
        |by: &dyn Fn(&Row) -> bool| -> Vec<&str> { theirs.iter().filter(|r| !by(r)).map(|r| r.program.name).collect() };
    let any = missed(&|r| r.ours().any(|(_, t)| t.found() > 0));
    let confirm = missed(&|r| r.confirm.found() > 0);
    let fuzz = missed(&|r| r.fuzz.found() > 0);
    let list = |names: &[&str]| if names.is_empty() { String::new() } else { format!(" (not {})", names.join(", ")) };
    let all = theirs.len();
    let found = format!(
        "{} of {all}{} by one strategy or another, {} of {all}{} by `confirm` alone, {} of {all}{} by `fuzz` alone",
        all - any.len(),
        list(&any),
        all - confirm.len(),
        list(&confirm),
        all - fuzz.len(),
        list(&fuzz),
    );
    let family = |r: &&Row| r.program.name.starts_with("CS/reorder") || r.program.name.starts_with("CS/twostage");
    let family: Vec<&Row> = rows.iter().filter(family).collect();
    let best: Vec<Vec<&str>> = family.iter().map(|r| fewer(r, published)).collect();
    let names: Vec<&str> = rows.first().map(|r| r.ours().map(|(name, _)| name).collect()).unwrap_or_default();
    let sizes = |name: &str| best.iter().filter(|b| b.contains(&name)).count();
    let everywhere = names.iter().any(|name| sizes(name) == family.len());
    let counted: Vec<String> =
        names.iter().map(|name| format!("{name} at {} of {}", sizes(name), family.len())).collect();
    let hard = rows.iter().find(|r| r.program.name == SAFESTACK);
    let hard_found = hard.is_some_and(|r| r.ours().any(|(_, t)| t.always()));
    let hard = hard.map_or(String::new(), |r| {
        let cells: Vec<String> = r.ours().map(|(name, t)| format!("{name} {}", t.mean_text())).collect();
        cells.join(", ")
    });
    let [reorder, twostage] = ["CS/reorder", "CS/twostage"].map(|name| most_fuzzed(rows, name));
    let harmed = harmed(rows);
    let mut out = table::goals(&[
        (
            "found at least all that RFF and SURW found together, as published, each by some seed and some strategy",
            found,
            any.is_empty(),
        ),
        (
            "fewer schedules than either on reorder and twostage, at every size, by one strategy",
            counted.join(", "),
            everywhere,
        ),
        ("SafeStack within 100,000 schedules, with every seed", hard, hard_found),
        ("`fuzz`: 5 schedules at most on reorder, a mean at every size", number(reorder), reorder <= 5.0),
        ("`fuzz`: 6 schedules at most on twostage, a mean at every size", number(twostage), twostage <= 6.0),
        (
            "`fuzz`: at most twice the schedules of the better of POS and random walks, in every program",
            if harmed.is_empty() { "in all".to_owned() } else { format!("not in {}", harmed.join(", ")) },
            harmed.is_empty(),
        ),
    ]);
    out += "\nThe second goal compares counts of different tools, with what was said above about that; every seed has to find the bug. By size:\n\n";
    out += &columns(&["program", "RFF, published", "SURW, published", "fewer than both"]);
    for (r, best) in family.iter().zip(&best) {
        let counts: Vec<String> = r
            .ours()
            .filter(|(name, _)| best.contains(name))
            .map(|(name, t)| format!("{name} {}", t.mean_text()))
            .collect();
        let counts = if counts.is_empty() { "none".to_owned() } else { counts.join(", ") };
        let text = |c| published.text(r.program.name, c).to_owned();
        out += &row(&[r.program.name.to_owned(), text("rff"), text("surw"), counts]);
    }
    out
}

// Returns the largest mean of `fuzz` over the programs of a family; infinite if some seed found nothing.
fn most_fuzzed(rows: &[Row], family: &str) -> f64 {
    let means = rows.iter().filter(|r| r.program.name.starts_with(family)).map(|r| of_all(Some(&r.fuzz)));
    means.map(|mean| mean.unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
}

// Returns the programs in which `fuzz` takes more than twice the schedules of the better of POS and random walks.
fn harmed(rows: &[Row]) -> Vec<String> {
    let more = |r: &&Row| {
        let better = ["pos", "random"].into_iter().filter_map(|text| of_all(r.strategy(text)));
        let better = better.fold(f64::INFINITY, f64::min);
        of_all(Some(&r.fuzz)).unwrap_or(f64::INFINITY) > 2.0 * better
    };
    rows.iter().filter(more).map(|r| format!("{} ({})", r.program.name, r.fuzz.mean_text())).collect()
}

// Returns our strategies that need fewer schedules than both RFF and SURW.
fn fewer(r: &Row, published: &Published) -> Vec<&'static str> {
    let theirs =
        ["rff", "surw"].iter().filter_map(|c| published.number(r.program.name, c)).fold(f64::INFINITY, f64::min);
    r.ours().filter(|(_, t)| t.always() && t.mean().is_some_and(|m| m < theirs)).map(|(name, _)| name).collect()
}

fn over(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? / b?)
}

fn of_all(tally: Option<&Tally>) -> Option<f64> {
    tally.filter(|t| t.always())?.mean()
}

fn ratio(r: Option<f64>) -> String {
    r.map_or(String::new(), |r| format!("{r:.2}"))
}

/// Returns the section with ratios of strategies within one tool.
pub(crate) fn within(rows: &[Row], published: &Published) -> String {
    let mut out = "\n## Strategies within one tool\n\nSchedules of a strategy over those of PCT-3 of the same tool, where every seed of both found the bug: below 1 it needs fewer. *RFF's* and *SURW's* are ratios of the \
        figures in those papers' artifacts.\n\n"
        .to_owned();
    out += &columns(&[
        "program",
        "POS, ours",
        "RFF's",
        "SURW's",
        "SURW, ours",
        "SURW's",
        "URW, ours",
        "SURW's",
        "random walk, ours",
        "SURW's",
    ]);
    let mut all: [Vec<f64>; 9] = Default::default();
    for r in rows {
        let name = r.program.name;
        let ours = |text| over(of_all(r.strategy(text)), of_all(r.strategy("pct:3")));
        let theirs = |a, b| over(published.always(name, a), published.always(name, b));
        let cells = [
            ours("pos"),
            theirs("rff_pos", "rff_pct3"),
            theirs("surw_pos", "surw_pct3"),
            ours(SURW_OF_ONE),
            theirs("surw", "surw_pct3"),
            ours("surw"),
            theirs("surw_urw", "surw_pct3"),
            ours("random"),
            theirs("surw_random", "surw_pct3"),
        ];
        // A program without published figures is left out, because there is nothing to compare.
        let compared =
            [(0, 1), (0, 2), (3, 4), (5, 6), (7, 8)].iter().any(|(a, b)| cells[*a].is_some() && cells[*b].is_some());
        if compared {
            all.iter_mut().zip(cells).for_each(|(all, cell)| all.extend(cell));
            let texts: Vec<String> = std::iter::once(name.to_owned()).chain(cells.map(ratio)).collect();
            out += &row(&texts);
        }
    }
    let means: Vec<String> = all.iter().map(|all| ratio(geometric_mean(all))).collect();
    out + &row(&[vec!["**geometric mean**".to_owned()], means].concat())
}

/// Returns the section about the same programs under shuttle.
pub(crate) fn shuttle(rows: &[Row]) -> String {
    let mut out = "\n## Against shuttle\n\nThe same programs with the same assertions, written for shuttle in [peers/programs.rs](../../benches/first_bug/peers/programs.rs). Data under a lock is no scheduling point \
        there, while it is one or two steps of a model; so ratios within a tool are again what compares. shuttle has no POS, and of SURW the form with all operations, URW. Its runs of programs with 10 threads or more take long: these have a tenth of the \
        schedules.\n\n"
        .to_owned();
    out += &columns(&[
        "program",
        "`confirm`",
        "random walk",
        "PCT-3",
        "URW",
        "shuttle: random",
        "PCT-3",
        "URW",
        "PCT-3 : random",
        "shuttle's",
        "URW : random",
        "shuttle's",
    ]);
    let (mut compared, mut confirm, mut best) = (0, 0, 0);
    for r in rows {
        let Some([random, pct, urw]) = r.shuttle.as_deref() else { continue };
        let own = |text| r.strategy(text);
        compared += 1;
        confirm += usize::from(r.confirm.always());
        best += usize::from([random, pct, urw].iter().any(|t| t.always()));
        let texts = [Some(&r.confirm), own("random"), own("pct:3"), own("surw"), Some(random), Some(pct), Some(urw)];
        let ratios = [
            over(of_all(own("pct:3")), of_all(own("random"))),
            over(of_all(Some(pct)), of_all(Some(random))),
            over(of_all(own("surw")), of_all(own("random"))),
            over(of_all(Some(urw)), of_all(Some(random))),
        ];
        let mut cells = vec![r.program.name.to_owned()];
        cells.extend(texts.map(|t| t.map_or(String::new(), Tally::mean_text)));
        cells.extend(ratios.map(ratio));
        out += &row(&cells);
    }
    out + &format!(
        "\n`confirm` finds the bug with every seed in {} of these {compared} programs; one of shuttle's schedulers or another does in {}.\n",
        number(confirm as f64),
        number(best as f64)
    )
}
