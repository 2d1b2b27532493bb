//! Tests of the commands of an editor: their verdicts, their progress, and their cancellation.

use crate::client::Client;
use serde_json::{Value, json};

const RACE: &str = "\
var x = 0
thread a { @read: assert x == 0, \"seen\" }
thread b { @write: x = 1 }
expect race @read ~ @write: harmful
expect no failure
expect outcomes of x: ok 1, failure \"seen\"
";

fn run(client: &mut Client, command: &str, argument: Value) -> Result<Value, Value> {
    client.request(
        "workspace/executeCommand",
        json!({ "command": format!("raceflip.{command}"), "arguments": [argument] }),
    )
}

fn texts(result: &Value) -> Vec<(u64, String)> {
    let verdicts = result["verdicts"].as_array().unwrap().iter();
    verdicts.map(|one| (one["line"].as_u64().unwrap(), one["text"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn each_command_has_a_lens() {
    let mut client = Client::start();
    let uri = "file:///lenses.race";
    client.open(uri, RACE);
    let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": uri } })).unwrap();
    let mut all = Vec::new();
    for lens in lenses.as_array().unwrap() {
        let (command, line) = (&lens["command"], lens["range"]["start"]["line"].as_u64().unwrap());
        all.push((command["title"].as_str().unwrap().to_owned(), line));
        // What the lens says is what the server performs.
        let params = json!({ "command": command["command"], "arguments": command["arguments"] });
        client.request("workspace/executeCommand", params).unwrap();
    }
    let expected =
        [("confirm", 0), ("explore", 0), ("run", 0), ("test", 0), ("confirm", 3), ("confirm", 4), ("confirm", 5)];
    assert_eq!(all, expected.map(|(title, line)| (title.to_owned(), line)));
    client.finish();
}

#[test]
fn verdicts_are_shown_beside_the_lines() {
    let mut client = Client::start();
    let uri = "file:///verdicts.race";
    client.open(uri, RACE);
    let result = run(&mut client, "confirm", json!({ "uri": uri, "line": 4 })).unwrap();
    assert_eq!(texts(&result), [(4, "holds".to_owned())]);
    let result = run(&mut client, "confirm", json!({ "uri": uri, "line": 5 })).unwrap();
    assert_eq!(texts(&result), [(5, "does not hold".to_owned())]);
    let detail = result["verdicts"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("seen at :2:19") && detail.contains("(rf"), "{detail}");
    let found = client.diagnostics(uri, 1, |found| found.len() == 2);
    assert!(found.iter().all(|one| one["severity"] == 4), "{found:?}");
    let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let hints = |client: &mut Client| {
        let params = json!({ "textDocument": { "uri": uri }, "range": whole });
        let hints = client.request("textDocument/inlayHint", params).unwrap();
        let hints = hints.as_array().unwrap().iter();
        hints
            .map(|one| (one["position"]["line"].as_u64().unwrap(), one["label"].as_str().unwrap().to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(hints(&mut client), [(3, "holds".to_owned()), (4, "does not hold".to_owned())]);
    client.wait(|message| message["method"] == "workspace/inlayHint/refresh");
    // Verdicts are about one text.
    client.set(uri, 2, &format!("{RACE}\n"));
    client.diagnostics(uri, 2, |found| found.is_empty());
    assert!(hints(&mut client).is_empty());
    client.finish();
}

#[test]
fn commands_of_a_file_say_what_they_find() {
    let mut client = Client::start();
    let uri = "file:///file.race";
    client.open(uri, RACE);
    let confirmed = texts(&run(&mut client, "confirm", json!({ "uri": uri })).unwrap());
    assert!(confirmed.contains(&(2, "HARMFUL: x, with :3 (@write)".to_owned())), "{confirmed:?}");
    assert!(confirmed.contains(&(3, "HARMFUL: x, with :2 (@read)".to_owned())), "{confirmed:?}");
    let explored = texts(&run(&mut client, "explore", json!({ "uri": uri })).unwrap());
    assert!(explored[0].1.contains("all of them: 2 ends, 1 of them not ok"), "{explored:?}");
    assert!(explored[1].0 == 2 && explored[1].1.contains("possible: seen at :2:19"), "{explored:?}");
    let tested = texts(&run(&mut client, "test", json!({ "uri": uri })).unwrap());
    assert_eq!(tested.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [4, 5, 6]);
    assert_eq!(tested[1].1, "does not hold");
    // Each run has the next seed; the first is that of the command line.
    let runs: Vec<String> =
        (0..3).map(|_| texts(&run(&mut client, "run", json!({ "uri": uri })).unwrap()).remove(0).1).collect();
    assert!(runs.iter().enumerate().all(|(seed, text)| text.starts_with(&format!("run {seed}: "))), "{runs:?}");
    let again = texts(&run(&mut client, "run", json!({ "uri": uri, "seed": 1 })).unwrap()).remove(0).1;
    assert_eq!(again, runs[1]);
    client.finish();
}

/// A line with a condition is judged in its own variant.
#[test]
fn lines_are_judged_in_their_variants() {
    let mut client = Client::start();
    let uri = "file:///variants.race";
    let text = "const FIXED = 0\nvar x = 0\nlock l\nthread a { if FIXED == 0 { x += 1 } else { sync l { x += 1 } } }\nthread b { sync l { x += 1 } }\nexpect outcomes of x: ok 1, ok 2 if FIXED == 0\nexpect outcomes of x: ok 2 if FIXED == 1\n";
    client.open(uri, text);
    for line in [6, 7] {
        let result = run(&mut client, "confirm", json!({ "uri": uri, "line": line })).unwrap();
        assert_eq!(texts(&result), [(line, "holds".to_owned())], "{result}");
        let detail = result["verdicts"][0]["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("FIXED={}: holds", line - 6)), "{detail}");
    }
    let error = run(&mut client, "confirm", json!({ "uri": uri, "line": 5 })).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("there is no `expect` line 5"), "{error}");
    client.set(uri, 2, "thread {");
    let error = run(&mut client, "run", json!({ "uri": uri })).unwrap_err();
    assert!(error["message"].as_str().unwrap().starts_with("the model has errors: expected"), "{error}");
    client.finish();
}

/// A model whose search takes hours.
fn large() -> String {
    let threads: String =
        (0..12).map(|i| format!("thread t{i} {{ for i in 0..200 {{ x{i} += 1; y = i }} }}\n")).collect();
    let vars: String = (0..12).map(|i| format!("var x{i} = 0\n")).collect();
    format!("var y = 0\n{vars}{threads}")
}

#[test]
fn commands_show_progress_and_can_be_cancelled() {
    let mut client = Client::start();
    let uri = "file:///large.race";
    client.open(uri, &large());
    for command in ["explore", "confirm"] {
        for by_token in [true, false] {
            let params = json!({ "command": format!("raceflip.{command}"), "arguments": [{ "uri": uri }] });
            let id = client.ask("workspace/executeCommand", params);
            let create = client.wait(|message| message["method"] == "window/workDoneProgress/create");
            client.send(&json!({ "jsonrpc": "2.0", "id": create["id"], "result": null }));
            let token = create["params"]["token"].clone();
            let is = |kind: &'static str| {
                let token = token.clone();
                move |message: &Value| message["params"]["token"] == token && message["params"]["value"]["kind"] == kind
            };
            let begin = client.wait(is("begin"));
            assert_eq!(begin["params"]["value"]["title"], format!("raceflip {command}"));
            assert_eq!(begin["params"]["value"]["cancellable"], true);
            client.wait(is("report"));
            // The server answers while the command runs.
            client.at("textDocument/hover", uri, (0, 4)).unwrap();
            if by_token {
                client.notify("window/workDoneProgress/cancel", json!({ "token": token }));
            } else {
                client.notify("$/cancelRequest", json!({ "id": id }));
            }
            let error = client.answer(id).unwrap_err();
            assert_eq!(error["code"], -32800, "{error}");
            client.wait(is("end"));
        }
    }
    client.finish();
}

#[test]
fn a_token_of_the_client_is_used_and_there_are_not_too_many_commands() {
    let mut client = Client::start();
    let uri = "file:///many.race";
    client.open(uri, &large());
    let params = json!({ "command": "raceflip.explore", "arguments": [{ "uri": uri }], "workDoneToken": "mine" });
    let ids: Vec<u64> = (0..5).map(|_| client.ask("workspace/executeCommand", params.clone())).collect();
    let error = client.answer(ids[4]).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("4 commands run already"), "{error}");
    client.wait(|message| message["method"] == "$/progress" && message["params"]["token"] == "mine");
    // `shutdown` stops the others.
    client.finish();
}
