//! A client of rust-analyzer's protocol, as small as the questions are.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::rustc;

/// It indexes the standard library and the packages first.
const PATIENCE: Duration = Duration::from_secs(400);

pub(crate) struct Client {
    server: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    /// The file that is open.
    uri: String,
    text: String,
    asked: u64,
    version: u64,
}

impl Client {
    /// A server that knows a package with this source; `None` where there is none to start, or where it would not know the
    /// standard library.
    pub(crate) fn start(package: &str, source: &str) -> Option<Client> {
        let installed = Command::new("rust-analyzer").arg("--version").output();
        installed.ok().filter(|output| output.status.success())?;
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?.stdout;
        let sources = Path::new(str::from_utf8(&sysroot).ok()?.trim()).join("lib/rustlib/src/rust/library");
        sources.is_dir().then_some(())?;
        // The package with its lock file, and what it depends on built.
        let rest = "[[bin]]\nname = \"editor\"\npath = \"main.rs\"\n";
        let folder = rustc::package_folder(package);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("main.rs"), source).unwrap();
        let built = rustc::cargo(package, rest, &["check", "--quiet"]);
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some(Client::connect(&folder, source))
    }

    fn connect(folder: &PathBuf, source: &str) -> Client {
        let mut server = Command::new("rust-analyzer")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it was there a moment ago");
        let (sender, from) = channel();
        let mut answers = BufReader::new(server.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            while let Some(message) = message(&mut answers) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let to = server.stdin.take().expect("a pipe");
        let root = format!("file://{}", folder.display().to_string().replace(' ', "%20"));
        let uri = format!("{root}/main.rs");
        let mut client = Client { server, to, from, uri, text: source.to_string(), asked: 0, version: 1 };
        client.ask(
            "initialize",
            json!({
                "processId": null,
                "rootUri": root,
                "capabilities": { "experimental": { "serverStatusNotification": true } },
                "initializationOptions": { "checkOnSave": false },
            }),
        );
        client.tell("initialized", json!({}));
        let document = json!({ "uri": client.uri, "languageId": "rust", "version": 1, "text": client.text });
        client.tell("textDocument/didOpen", json!({ "textDocument": document }));
        client.wait(|message| {
            message["method"] == "experimental/serverStatus" && message["params"]["quiescent"] == true
        });
        client
    }

    /// Types another text.
    pub(crate) fn change(&mut self, text: &str) {
        self.version += 1;
        self.text = text.to_string();
        let document = json!({ "uri": self.uri, "version": self.version });
        let params = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
        self.tell("textDocument/didChange", params);
    }

    /// What is offered behind a piece of this text.
    pub(crate) fn complete(&mut self, text: &str, behind: &str) -> Vec<String> {
        self.change(text);
        let at = self.position(behind, behind.len());
        let answer = self.ask("textDocument/completion", at);
        let items = answer.as_array().or_else(|| answer["items"].as_array()).cloned().unwrap_or_default();
        items.iter().filter_map(|item| item["label"].as_str()).map(str::to_string).collect()
    }

    /// What is shown at a piece of the text.
    pub(crate) fn hover(&mut self, at: &str) -> String {
        let at = self.position(at, 0);
        self.ask("textDocument/hover", at)["contents"]["value"].as_str().unwrap_or_default().to_string()
    }

    /// On which line is defined what stands there, from 1.
    pub(crate) fn definition(&mut self, at: &str) -> usize {
        let at = self.position(at, 0);
        let answer = self.ask("textDocument/definition", at);
        answer[0]["range"]["start"]["line"].as_u64().map_or(0, |line| line as usize + 1)
    }

    /// The signature of the call that a place in a piece of the text is in.
    pub(crate) fn signature(&mut self, call: &str, place: usize) -> String {
        let at = self.position(call, place);
        let answer = self.ask("textDocument/signatureHelp", at);
        answer["signatures"][0]["label"].as_str().unwrap_or_default().to_string()
    }

    /// The lines, from 1, and texts of the mistakes that are underlined.
    pub(crate) fn mistakes(&mut self) -> Vec<(u64, String)> {
        let answer = self.ask("textDocument/diagnostic", json!({ "textDocument": { "uri": self.uri } }));
        let items = answer["items"].as_array().cloned().unwrap_or_default();
        let one = |item: &Value| {
            let line = item["range"]["start"]["line"].as_u64()? + 1;
            Some((line, item["message"].as_str()?.to_string()))
        };
        items.iter().filter_map(one).collect()
    }

    /// A place in the only piece of the text that reads so.
    fn position(&self, piece: &str, place: usize) -> Value {
        let at = self.text.find(piece).unwrap_or_else(|| panic!("`{piece}` is not there")) + place;
        let before = &self.text[..at];
        let (line, character) =
            (before.matches('\n').count(), at - before.rfind('\n').map_or(0, |end| end + 1));
        json!({ "textDocument": { "uri": self.uri }, "position": { "line": line, "character": character } })
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.wait(|message| message["id"] == id && message["method"].is_null());
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the server listens");
        self.to.flush().expect("the server listens");
    }

    /// The next message that is it. What the server asks is answered with nothing.
    fn wait(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.from.recv_timeout(PATIENCE).expect("the server answers");
            if is_it(&message) {
                return message;
            }
            if !message["id"].is_null() && !message["method"].is_null() {
                let asked = message["params"]["items"].as_array().map(|items| vec![Value::Null; items.len()]);
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": asked }));
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

fn message(from: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().ok()?
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
