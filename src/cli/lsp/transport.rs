//! Reads messages of the client, and writes those of the server. A thread for each, so that neither waits for the
//! other.
//!
//! The types are those of `lsp-server`. Its reader ends at the first message that is not JSON, and allocates whatever
//! length a header names. This one answers the former with an error, as the protocol asks, and bounds the latter.

use crate::cli::io::output::ProtocolStream;
use crossbeam::channel::{Receiver, Sender, bounded, unbounded};
use lsp_server::{Message, RequestId};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::io::{self, BufRead, BufReader, Read};
use std::thread::{Builder, JoinHandle};

/// Maximum length of a message in bytes. A model has at most one mebibyte.
const MOST_BYTES: usize = 64 << 20;
/// Version of JSON-RPC.
const VERSION: &str = "2.0";
/// Maximum length of a line of a header in bytes.
const MOST_HEADER: u64 = 1 << 12;

/// What the client has sent.
#[derive(Debug)]
pub(super) enum Received {
    /// A message.
    Message(Box<Message>),
    /// Bytes that are no message; the reader has found the next one.
    Malformed(String),
    /// Bytes after which no message can be found.
    Broken(String),
}

/// Both directions of the connection.
pub(super) struct Transport {
    /// What the client sends. It is closed at the end of stdin.
    pub(super) from_client: Receiver<Received>,
    to_client: Sender<Option<String>>,
    writer: JoinHandle<()>,
}

impl Transport {
    /// Starts the threads that read stdin and write stdout.
    pub(super) fn start() -> io::Result<Self> {
        // A bounded queue lets a client wait that sends faster than the server answers.
        let (received, from_client) = bounded(64);
        let (to_client, outgoing) = unbounded::<Option<String>>();
        Builder::new().name("lsp reader".into()).spawn(move || {
            let mut input = BufReader::new(io::stdin());
            while let Some(next) = read(&mut input) {
                let last = matches!(next, Received::Broken(_));
                if received.send(next).is_err() || last {
                    return;
                }
            }
        })?;
        let writer = Builder::new().name("lsp writer".into()).spawn(move || {
            let mut out = ProtocolStream::new();
            while let Ok(Some(message)) = outgoing.recv() {
                if out.message(&message).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { from_client, to_client, writer })
    }

    /// Returns a handle that sends to the client.
    pub(super) fn client(&self) -> Client {
        Client(self.to_client.clone())
    }

    /// Waits until everything that was sent so far is written. Handles send nothing afterwards.
    pub(super) fn finish(self) {
        self.to_client.send(None).ok();
        // The writer does not panic, and an error of stdout has no reader.
        self.writer.join().ok();
    }
}

/// Sends messages to the client.
#[derive(Clone)]
pub(super) struct Client(Sender<Option<String>>);

impl Client {
    /// Sends a message. A client that is gone gets nothing.
    pub(super) fn send(&self, message: impl Into<Message>) {
        #[derive(Serialize)]
        struct Framed {
            jsonrpc: &'static str,
            #[serde(flatten)]
            message: Message,
        }
        self.write(&Framed { jsonrpc: VERSION, message: message.into() });
    }

    /// Answers a request with a result that is JSON already. An outline can have a megabyte, so it is written once.
    pub(super) fn answer(&self, id: &RequestId, result: &RawValue) {
        #[derive(Serialize)]
        struct Answered<'a> {
            jsonrpc: &'static str,
            id: &'a RequestId,
            result: &'a RawValue,
        }
        self.write(&Answered { jsonrpc: VERSION, id, result });
    }

    fn write(&self, message: &impl Serialize) {
        // Messages are made of texts and numbers, which can be written.
        if let Ok(text) = serde_json::to_string(message) {
            self.0.send(Some(text)).ok();
        }
    }

    /// Answers a message whose number could not be read.
    pub(super) fn refuse_unread(&self, code: i32, why: &str) {
        let error = json!({ "code": code, "message": why });
        self.write(&json!({ "jsonrpc": VERSION, "id": null, "error": error }));
    }
}

/// Reads one message. Returns `None` at the end of the input.
fn read(input: &mut impl BufRead) -> Option<Received> {
    let length = match content_length(input) {
        Ok(length) => length?,
        Err(why) => return Some(Received::Broken(why)),
    };
    if length > MOST_BYTES {
        return Some(Received::Broken(format!("a message of {length} bytes; the most are {MOST_BYTES}")));
    }
    let mut bytes = Vec::new();
    match input.take(length as u64).read_to_end(&mut bytes) {
        Ok(read) if read == length => {}
        Ok(_) => return Some(Received::Broken("the input ends inside a message".to_owned())),
        Err(error) => return Some(Received::Broken(format!("cannot read stdin: {error}"))),
    }
    Some(match serde_json::from_slice(&bytes) {
        Ok(message) => Received::Message(Box::new(message)),
        Err(error) => Received::Malformed(error.to_string()),
    })
}

// Reads the header of a message. Returns `None` at the end of the input.
fn content_length(input: &mut impl BufRead) -> Result<Option<usize>, String> {
    let mut length = None;
    for at in 0.. {
        let mut line = Vec::new();
        let read = input.by_ref().take(MOST_HEADER).read_until(b'\n', &mut line);
        match read {
            Ok(0) if at == 0 => return Ok(None),
            Ok(0) => return Err("the input ends inside a header".to_owned()),
            Ok(_) if !line.ends_with(b"\n") => return Err("a line of a header is too long, or has no end".to_owned()),
            Ok(_) => {}
            Err(error) => return Err(format!("cannot read stdin: {error}")),
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or("a line of a header has no colon")?;
        if name.trim().eq_ignore_ascii_case("Content-Length") {
            length = Some(value.trim().parse().map_err(|_| "the length of a message is no number")?);
        }
    }
    length.map(Some).ok_or_else(|| "a message without `Content-Length`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<String> {
        let (mut input, mut found) = (bytes, Vec::new());
        while let Some(next) = read(&mut input) {
            let last = matches!(next, Received::Broken(_));
            found.push(match next {
                Received::Message(message) => match *message {
                    Message::Request(request) => request.method,
                    Message::Notification(notification) => notification.method,
                    Message::Response(_) => "response".to_owned(),
                },
                Received::Malformed(_) => "malformed".to_owned(),
                Received::Broken(why) => why,
            });
            if last {
                break;
            }
        }
        found
    }

    fn framed(text: &str) -> Vec<u8> {
        format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
    }

    #[test]
    fn messages_follow_each_other() {
        let one = r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#;
        let bytes = [framed(one), framed("{"), framed("[]"), framed(r#"{"method":"exit"}"#)].concat();
        assert_eq!(all(&bytes), ["shutdown", "malformed", "malformed", "exit"]);
        // Other headers, and line ends without a carriage return.
        let bytes = format!("Content-Type: x\ncontent-length:{}\n\n{one}", one.len());
        assert_eq!(all(bytes.as_bytes()), ["shutdown"]);
    }

    #[test]
    fn what_is_no_message_ends_the_input() {
        let check = |bytes: &[u8], why: &str| {
            let found = all(bytes);
            assert!(found.len() == 1 && found[0].contains(why), "{found:?}");
        };
        check(b"Content-Length: 18446744073709551615\r\n\r\n", "the most are");
        check(b"Content-Length: 99999999999999999999999\r\n\r\n", "no number");
        check(b"Content-Length: 10\r\n\r\n{}", "ends inside a message");
        check(b"Content-Length: 10\r\n", "ends inside a header");
        check(b"\r\n", "without `Content-Length`");
        check(b"hello\r\n\r\n", "no colon");
        check(&[b'x'; 10_000], "too long");
        assert!(all(b"").is_empty());
    }
}
