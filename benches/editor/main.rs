//! Measures how long the language server takes from a key to what the editor shows, on generated models of several
//! lengths: errors, the outline, a completion, a hover, all places of a name, a renaming.
//!
//! `cargo bench --bench editor` writes `docs/results/editor.md`. With `--quick`, or if a test run starts it, it takes
//! seconds and writes meaningless numbers below `target/tmp`.

#[allow(dead_code, reason = "other benchmarks use the rest")]
#[path = "../common/machine.rs"]
mod machine;
#[path = "../common/mode.rs"]
mod mode;
#[allow(dead_code, reason = "other benchmarks use the rest")]
#[path = "../common/numbers.rs"]
mod numbers;
#[path = "../common/pages.rs"]
mod pages;
mod server;
mod text;

use clap::Parser;
use mode::Mode;
use numbers::Spread;
use serde_json::json;
use server::Server;
use std::fmt::Write;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Measures the language server")]
struct Args {
    #[command(flatten)]
    mode: Mode,
}

/// Lines of the models.
const LENGTHS: [usize; 4] = [100, 1_000, 5_000, 10_000];

/// Questions, each with its name in the table.
const QUESTIONS: [(&str, &str); 6] = [
    ("textDocument/documentSymbol", "outline"),
    ("textDocument/completion", "completion"),
    ("textDocument/hover", "hover"),
    ("textDocument/references", "all places"),
    ("textDocument/codeLens", "commands"),
    ("textDocument/rename", "renaming"),
];

/// The times for one length, in milliseconds.
struct Times {
    lines: usize,
    // From a key that makes an error to its message, and for each question from a key before it to the answer.
    error: Spread,
    answers: Vec<Spread>,
    // From a key to the warnings of a model without errors.
    warnings: Spread,
}

fn main() -> ExitCode {
    let args = Args::parse();
    pages::exit(run(args.mode.is_quick()))
}

fn run(quick: bool) -> Result<(), String> {
    let (lengths, rounds) = if quick { (&LENGTHS[..2], 2) } else { (&LENGTHS[..], 21) };
    let times = lengths.iter().map(|lines| measured(*lines, rounds)).collect::<Result<Vec<Times>, String>>()?;
    pages::write(&pages::folder(quick, "editor"), &[("editor.md", page(&times))])
}

/// A key is typed in the middle of the text, in a statement, and the question is about the name there.
fn measured(lines: usize, rounds: usize) -> Result<Times, String> {
    let text = text::model(lines);
    let mut server = Server::start()?;
    let uri = format!("file:///{lines}.race");
    let position = text::middle(&text)?;
    let begin = server.open(&uri, &text)?;
    eprintln!("{lines} lines: the first warnings after {begin:.1} ms");
    let key = |text: &str| json!([{ "range": { "start": position, "end": position }, "text": text }]);
    let back = || {
        let mut end = position.clone();
        end["character"] = json!(position["character"].as_u64().unwrap_or(0) + 1);
        json!([{ "range": { "start": position, "end": end }, "text": "" }])
    };
    let (mut error, mut warnings) = (Vec::new(), Vec::new());
    let mut answers = vec![Vec::new(); QUESTIONS.len()];
    for _ in 0..rounds {
        // A name that nothing declares, and its end.
        error.push(server.until_diagnostics(&uri, key("z"), |found| !found.is_empty())?);
        warnings.push(server.until_diagnostics(&uri, back(), <[_]>::is_empty)?);
        for (times, (method, _)) in answers.iter_mut().zip(QUESTIONS) {
            let mut params = json!({ "textDocument": { "uri": uri }, "position": position });
            match method {
                "textDocument/references" => params["context"] = json!({ "includeDeclaration": true }),
                "textDocument/rename" => params["newName"] = json!("another_name"),
                _ => {}
            }
            times.push(server.until_answer(&uri, key(" "), method, params)?);
            server.edit(&uri, back())?;
        }
    }
    server.stop()?;
    let answers = answers.into_iter().map(Spread::of).collect();
    Ok(Times { lines, error: Spread::of(error), answers, warnings: Spread::of(warnings) })
}

fn page(times: &[Times]) -> String {
    let machine = machine::machine(&[]);
    let questions: String = QUESTIONS.iter().map(|(_, name)| format!(" {name} |")).collect();
    let rule = "---|".repeat(3 + QUESTIONS.len());
    let mut page = format!(
        "# The language server\n\nWritten by `cargo bench --bench editor`. {machine}\n\nMilliseconds from a key in the middle \
         of a model until the client has the answer, over stdio: the median of some rounds, and the range. `error` is the message about a name that \
         nothing declares. `warnings` are those of the whole model, by static analysis, in the background. Each question comes right \
         after a key, so the text is parsed and checked first. A renaming checks the renamed text as well. The models are generated \
         (`benches/editor/text.rs`): classes, loopers, tasks, threads, labels and `expect` lines, a tenth of the lines comments.\n\n\
         | lines | error |{questions} warnings |\n|{rule}\n"
    );
    for one in times {
        let cell = |spread: Spread| format!("{:.1} ({:.1}..{:.1})", spread.median, spread.least, spread.most);
        let answers: String = one.answers.iter().map(|spread| format!(" {} |", cell(*spread))).collect();
        let lines = numbers::grouped(one.lines as u64);
        // Writing to a text cannot fail.
        let _ = writeln!(page, "| {lines} | {} |{answers} {} |", cell(one.error), cell(one.warnings));
    }
    page
}
