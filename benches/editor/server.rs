//! A server under measurement, and its client.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
    version: i64,
}

impl Server {
    pub(crate) fn start() -> Result<Self, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raceflip"));
        command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| e.to_string())?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut server = Self { child, input, output, asked: 0, version: 1 };
        let params = json!({ "processId": null, "rootUri": null, "capabilities": {} });
        let id = server.ask("initialize", params)?;
        server.answer(id)?;
        server.notify("initialized", json!({}))?;
        Ok(server)
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).map_err(|e| e.to_string())?;
        self.input.flush().map_err(|e| e.to_string())
    }

    fn notify(&mut self, method: &str, params: Value) -> Result<(), String> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<u64, String> {
        self.asked += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }))?;
        Ok(self.asked)
    }

    fn message(&mut self) -> Result<Value, String> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).map_err(|e| e.to_string())? == 0 {
                return Err("the server has ended".to_owned());
            }
            match line.trim_end().split_once(": ") {
                Some((_, value)) => length = value.parse().map_err(|_| "a length that is no number")?,
                None => break,
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).map_err(|e| e.to_string())?;
        serde_json::from_slice(&bytes).map_err(|e| e.to_string())
    }

    fn answer(&mut self, id: u64) -> Result<Value, String> {
        loop {
            let message = self.message()?;
            if message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(error.to_string()),
                    None => Ok(message["result"].clone()),
                };
            }
        }
    }

    // Reads messages until the diagnostics of the current version are as wanted.
    fn diagnostics(&mut self, uri: &str, wanted: fn(&[Value]) -> bool) -> Result<(), String> {
        loop {
            let message = self.message()?;
            let params = &message["params"];
            let is_of = params["uri"] == uri && params["version"] == self.version;
            if is_of && params["diagnostics"].as_array().is_some_and(|found| wanted(found)) {
                return Ok(());
            }
        }
    }

    /// Opens a text, and returns the milliseconds until its warnings are there.
    pub(crate) fn open(&mut self, uri: &str, text: &str) -> Result<f64, String> {
        let start = Instant::now();
        let item = json!({ "uri": uri, "languageId": "race", "version": self.version, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": item }))?;
        self.diagnostics(uri, |_| true)?;
        Ok(millis(start))
    }

    pub(crate) fn edit(&mut self, uri: &str, changes: Value) -> Result<(), String> {
        self.version += 1;
        let document = json!({ "uri": uri, "version": self.version });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }))
    }

    /// Returns the milliseconds from an edit to diagnostics that are as wanted.
    pub(crate) fn until_diagnostics(
        &mut self,
        uri: &str,
        changes: Value,
        wanted: fn(&[Value]) -> bool,
    ) -> Result<f64, String> {
        let start = Instant::now();
        self.edit(uri, changes)?;
        self.diagnostics(uri, wanted)?;
        Ok(millis(start))
    }

    /// Returns the milliseconds from an edit to the answer of a question that follows it.
    pub(crate) fn until_answer(
        &mut self,
        uri: &str,
        changes: Value,
        method: &str,
        params: Value,
    ) -> Result<f64, String> {
        let start = Instant::now();
        self.edit(uri, changes)?;
        let id = self.ask(method, params)?;
        let answer = self.answer(id)?;
        let time = millis(start);
        let is_empty = answer.is_null() || answer.as_array().is_some_and(Vec::is_empty);
        if is_empty { Err(format!("{method}: the answer is empty")) } else { Ok(time) }
    }

    pub(crate) fn stop(mut self) -> Result<(), String> {
        let id = self.ask("shutdown", Value::Null)?;
        self.answer(id)?;
        self.notify("exit", Value::Null)?;
        let status = self.child.wait().map_err(|e| e.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("the server ends with {status}")) }
    }
}

fn millis(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}
