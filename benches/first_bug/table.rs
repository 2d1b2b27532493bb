//! Formats the tables of a page, and its head.

use crate::machine::{locked, machine};

/// Returns the start of a page: its title, the command, the day, the machine and the tools.
pub(crate) fn head(title: &str, table: &str, peers: &[&str]) -> String {
    let versions: Vec<String> = peers.iter().map(|name| format!("{name} {}", locked(name))).collect();
    let machine = machine(&versions).replace(", ;", ";");
    format!(
        "# {title}\n\nWritten by `cargo bench --features peers --bench first_bug -- {table}` on {}; [benches/first_bug](../../benches/first_bug/main.rs) is what it does. All numbers but the published ones were \
         counted in one run of that command; they depend on seeds alone, so the same command gives the same numbers on every machine.\n\n{machine}\n\n",
        today()
    )
}

/// Returns a row of a table.
pub(crate) fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Returns the head of a table: the names of its columns, and the line below them.
pub(crate) fn columns(names: &[&str]) -> String {
    format!("| {} |\n{}|\n", names.join(" | "), "|---".repeat(names.len()))
}

/// Returns the section about goals: what was counted, and whether they are met.
pub(crate) fn goals(rows: &[(&str, String, bool)]) -> String {
    let mut out = format!("## Goals\n\n{}", columns(&["goal", "counted", ""]));
    for (goal, counted, met) in rows {
        out += &row(&[(*goal).to_owned(), counted.clone(), if *met { "met" } else { "not met" }.to_owned()]);
    }
    out
}

// Returns the current day (UTC) as in `date --iso-8601`. Days are counted from March 1 of year 0, in eras of 400 years,
// so that a leap day is the last day of its year.
fn today() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let days = now.as_secs() / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{}-{month:02}-{day:02}", era * 400 + year + u64::from(month <= 2))
}
