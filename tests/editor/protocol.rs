//! Tests of the connection: its begin and end, and clients that do not keep to the protocol.

use crate::client::Client;
use raceflip::base::Rng;
use serde_json::{Value, json};

fn initialize() -> Value {
    json!({ "processId": null, "rootUri": null, "capabilities": {} })
}

#[test]
fn a_session_begins_and_ends() {
    let mut client = Client::spawn();
    let error = client.request("textDocument/hover", json!({})).unwrap_err();
    assert_eq!(error["code"], -32002, "before `initialize`");
    let answer = client.request("initialize", initialize()).unwrap();
    for provider in [
        "definition",
        "references",
        "hover",
        "documentSymbol",
        "rename",
        "completion",
        "documentFormatting",
        "codeLens",
        "inlayHint",
        "executeCommand",
    ] {
        assert!(!answer["capabilities"][format!("{provider}Provider")].is_null(), "{provider}");
    }
    client.notify("initialized", json!({}));
    assert_eq!(client.request("initialize", initialize()).unwrap_err()["code"], -32601, "a second time");
    assert_eq!(client.request("shutdown", Value::Null), Ok(Value::Null));
    assert_eq!(client.request("textDocument/hover", json!({})).unwrap_err()["code"], -32600, "after `shutdown`");
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), (Some(0), String::new()));
}

#[test]
fn an_exit_without_shutdown_has_the_status_of_the_protocol() {
    let mut client = Client::spawn();
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), (Some(1), String::new()));
    let mut client = Client::start();
    client.notify("exit", Value::Null);
    assert_eq!(client.ended().0, Some(1));
    let mut client = Client::start();
    client.close();
    assert_eq!(client.ended(), (Some(1), String::new()));
}

#[test]
fn requests_that_cannot_be_answered_have_errors() {
    let mut client = Client::start();
    let place = json!({ "textDocument": { "uri": "file:///no.race" }, "position": { "line": 0, "character": 0 } });
    for (method, params, code) in [
        ("textDocument/hover", json!({}), -32602),
        ("textDocument/hover", json!([1, 2]), -32602),
        ("textDocument/hover", place, -32602),
        ("textDocument/nothing", json!({}), -32601),
        ("workspace/executeCommand", json!({ "command": "raceflip.nothing" }), -32602),
        ("workspace/executeCommand", json!({ "command": "raceflip.run" }), -32602),
        ("workspace/executeCommand", json!({ "command": "raceflip.run", "arguments": [{ "uri": 7 }] }), -32602),
    ] {
        let error = client.request(method, params).unwrap_err();
        assert_eq!(error["code"], code, "{method}: {error}");
    }
    // Notifications that cannot be read have no effect.
    client.notify("textDocument/didOpen", json!({ "textDocument": 1 }));
    client.notify("textDocument/didChange", json!({}));
    client.notify("$/cancelRequest", json!({ "id": {} }));
    client.notify("unknown", json!(null));
    client.finish();
}

#[test]
fn what_is_not_json_is_answered_and_the_session_goes_on() {
    let mut client = Client::start();
    for text in ["{", "[]", "null", "\"text\"", "{\"id\":{}}", "\u{0}", "[[[[[[[[[[[["] {
        client.bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
        let answer = client.wait(|message| message["id"].is_null() && message.get("error").is_some());
        assert_eq!(answer["error"]["code"], -32700, "{text:?}");
    }
    let deep = "[".repeat(100_000);
    client.bytes(format!("Content-Length: {}\r\n\r\n{deep}", deep.len()).as_bytes());
    client.wait(|message| message["id"].is_null() && message.get("error").is_some());
    client.finish();
}

#[test]
fn bytes_that_are_no_messages_end_the_server_with_a_reason() {
    for bytes in [
        "hello\r\n\r\n",
        "Content-Length: x\r\n\r\n",
        "Content-Length: 18446744073709551615\r\n\r\n",
        "Content-Length: 99999999999\r\n\r\n",
    ] {
        let mut client = Client::start();
        client.bytes(bytes.as_bytes());
        let (status, text) = client.ended();
        assert_eq!(status, Some(2), "{bytes:?}: {text}");
        assert!(text.starts_with("error: the client does not speak the Language Server Protocol: "), "{text}");
    }
    let mut rng = Rng::seeded(7);
    for _ in 0..10 {
        let mut client = Client::start();
        let bytes: Vec<u8> = (0..rng.below(3000)).map(|_| rng.below(256) as u8).collect();
        client.bytes(&bytes);
        client.close();
        let (status, text) = client.ended();
        assert!(matches!(status, Some(1 | 2)) && !text.contains("bug"), "{status:?} {text}");
    }
}

#[test]
fn numbers_of_places_are_never_too_large() {
    let mut client = Client::start();
    let uri = "file:///a.race";
    client.open(uri, "var x = 0\nthread t { x = 1 }");
    let most = u64::from(u32::MAX);
    for method in ["hover", "definition", "documentHighlight", "completion", "prepareRename"] {
        let position = json!({ "line": most, "character": most });
        let answer = client.request(
            &format!("textDocument/{method}"),
            json!({ "textDocument": { "uri": uri }, "position": position }),
        );
        assert!(method == "prepareRename" || answer.is_ok(), "{method}: {answer:?}");
    }
    let range = json!({ "start": { "line": 5, "character": 9 }, "end": { "line": 0, "character": most } });
    client.edit(uri, 2, json!([{ "range": range, "text": "\u{1f600}" }]));
    client.edit(uri, 3, json!([{ "text": "x".repeat(2_000_000) }]));
    let found = client.diagnostics(uri, 3, |found| found.len() == 1);
    assert!(found[0]["message"].as_str().unwrap().contains("it has more than 1048576 bytes"), "{found:?}");
    client.set(uri, 4, "var x = 0\nthread t { x = 1 }");
    client.diagnostics(uri, 4, |found| found.is_empty());
    client.finish();
}

#[cfg(unix)]
#[test]
fn an_interruption_ends_the_server() {
    let mut client = Client::start();
    client.open("file:///a.race", "thread t { skip }");
    client.diagnostics("file:///a.race", 1, |found| found.is_empty());
    client.interrupt();
    assert_eq!(client.ended().0, Some(130));
}
