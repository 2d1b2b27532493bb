//! A client of the language server: it starts `raceflip lsp` and talks to it over pipes, as an editor does.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Time limit for an answer, far more than it needs even in an unoptimized build on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A running server and its client.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    // Messages that were read while another one was waited for.
    kept: Vec<Value>,
    asked: u64,
}

/// Returns the text of a file of the repository, by its path from the top.
pub(crate) fn read(path: &str) -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Returns the paths of the models of these folders, sorted, from the top of the repository.
pub(crate) fn models(folders: &[&str]) -> Vec<String> {
    let top = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in folders {
        let names = std::fs::read_dir(top.join(folder)).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
        paths.extend(names.filter(|n| n.ends_with(".race")).map(|n| format!("{folder}/{n}")));
    }
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

/// Returns a command that runs raceflip.
pub(crate) fn raceflip() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raceflip"));
    command.env_remove("RUST_LOG").env("NO_COLOR", "1");
    command
}

impl Client {
    /// Starts a server, without any message.
    pub(crate) fn spawn() -> Self {
        let mut command = raceflip();
        command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = message(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, messages, kept: Vec::new(), asked: 0 }
    }

    /// Starts a server that can be asked about texts.
    pub(crate) fn start() -> Self {
        let mut client = Self::spawn();
        let abilities =
            json!({ "window": { "workDoneProgress": true }, "workspace": { "inlayHint": { "refreshSupport": true } } });
        let answer =
            client.request("initialize", json!({ "processId": null, "rootUri": null, "capabilities": abilities }));
        assert_eq!(answer.unwrap()["serverInfo"]["name"], "raceflip");
        client.notify("initialized", json!({}));
        client
    }

    /// Sends bytes as they are. A server that is gone gets nothing.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("stdin is open");
        let _ = input.write_all(bytes).and_then(|()| input.flush());
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and returns its number.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request and waits for its result, or its error.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Waits for the answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Result<Value, Value> {
        let answer = self.wait(|message| message["id"] == id && message.get("method").is_none());
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
    }

    /// Waits for a message. Others are kept.
    pub(crate) fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at);
        }
        let until = Instant::now() + LONG;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left);
            let message = message.unwrap_or_else(|_| panic!("no answer; so far: {:?}", self.kept));
            assert_eq!(message["jsonrpc"], "2.0");
            if wanted(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    pub(crate) fn open(&mut self, uri: &str, text: &str) {
        let item = json!({ "uri": uri, "languageId": "race", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": item }));
    }

    /// Replaces the whole text.
    pub(crate) fn set(&mut self, uri: &str, version: i64, text: &str) {
        self.edit(uri, version, json!([{ "text": text }]));
    }

    pub(crate) fn edit(&mut self, uri: &str, version: i64, changes: Value) {
        let document = json!({ "uri": uri, "version": version });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// Waits until the diagnostics of a version of a text are as wanted, or shows the last ones.
    pub(crate) fn diagnostics(&mut self, uri: &str, version: i64, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let until = Instant::now() + LONG;
        let mut last = None;
        while Instant::now() < until {
            let is_of = |message: &Value| {
                message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri
            };
            let message = match self.kept.iter().position(is_of) {
                Some(at) => self.kept.remove(at),
                None => match self.messages.recv_timeout(Duration::from_millis(if last.is_some() {
                    20_000
                } else {
                    120_000
                })) {
                    Ok(message) if is_of(&message) => message,
                    Ok(message) => {
                        self.kept.push(message);
                        continue;
                    }
                    Err(_) => break,
                },
            };
            let found = message["params"]["diagnostics"].as_array().unwrap().clone();
            if message["params"]["version"] == version {
                if wanted(&found) {
                    return found;
                }
                last = Some(found);
            }
        }
        panic!("version {version} of {uri} has other diagnostics: {last:#?}");
    }

    /// Asks about a place of a text.
    pub(crate) fn at(&mut self, method: &str, uri: &str, (line, character): (u32, u32)) -> Result<Value, Value> {
        let position = json!({ "line": line, "character": character });
        self.request(method, json!({ "textDocument": { "uri": uri }, "position": position }))
    }

    /// Closes stdin.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// Waits for the end of the server, and returns its exit status and what it wrote to stderr.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let until = Instant::now() + LONG;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None if Instant::now() > until => panic!("the server does not end"),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (status, text)
    }

    /// Says `shutdown` and `exit`, and checks that the server ends as the protocol says, without a word on stderr.
    pub(crate) fn finish(mut self) {
        assert_eq!(self.request("shutdown", Value::Null), Ok(Value::Null));
        self.notify("exit", Value::Null);
        assert_eq!(self.ended(), (Some(0), String::new()));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that has failed leaves no server behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn message(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", value)) => length = value.parse().ok()?,
            _ if line == "\r\n" => break,
            _ => panic!("a header that is not of the protocol: {line:?}"),
        }
    }
    let mut bytes = vec![0; length];
    output.read_exact(&mut bytes).ok()?;
    Some(serde_json::from_slice(&bytes).unwrap())
}

/// Returns the place of an offset, by line and UTF-16 unit, counted one character after another.
pub(crate) fn place(text: &str, offset: usize) -> (u32, u32) {
    let before = &text[..offset];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line as u32, before[start..].encode_utf16().count() as u32)
}

/// Returns the offset of a place, the inverse of [`place`].
pub(crate) fn offset(text: &str, place: &Value) -> usize {
    let (line, units) = (place["line"].as_u64().unwrap() as usize, place["character"].as_u64().unwrap() as usize);
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text[start..].split('\n').next().unwrap_or_default();
    let mut left = units;
    for (at, c) in rest.char_indices() {
        if left < c.len_utf16() {
            return start + at;
        }
        left -= c.len_utf16();
    }
    start + rest.len()
}

/// Applies edits to a text, as an editor does: all of them refer to the text before.
pub(crate) fn applied(text: &str, edits: &Value) -> String {
    let mut edits: Vec<(usize, usize, &str)> = edits
        .as_array()
        .unwrap()
        .iter()
        .map(|edit| {
            let range = &edit["range"];
            (offset(text, &range["start"]), offset(text, &range["end"]), edit["newText"].as_str().unwrap())
        })
        .collect();
    edits.sort_by_key(|(start, ..)| *start);
    let mut out = text.to_owned();
    for (start, end, new) in edits.into_iter().rev() {
        out.replace_range(start..end, new);
    }
    out
}

/// Splits a text at `|`, and returns it without the mark, with the offset of the mark.
pub(crate) fn marked(text: &str) -> (String, usize) {
    let at = text.find('|').expect("a mark");
    (text.replacen('|', "", 1), at)
}

#[cfg(unix)]
impl Client {
    /// Sends what Ctrl-C sends.
    pub(crate) fn interrupt(&mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }
}
