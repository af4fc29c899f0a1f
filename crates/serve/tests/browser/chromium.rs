//! Chromium without a window, told what to do by its DevTools protocol over two pipes: messages of JSON, each
//! ended by a zero byte.

use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

pub(crate) struct Chromium {
    child: Child,
    folder: PathBuf,
    to: File,
    from: BufReader<File>,
    session: String,
    messages: u64,
    /// What it said in its console, errors and refusals among it.
    pub(crate) said: Vec<String>,
}

impl Chromium {
    /// `None` where there is none.
    pub(crate) fn start() -> Option<Self> {
        let found = Command::new("chromium").arg("--version").stdin(Stdio::null()).output();
        found.ok().filter(|output| output.status.success())?;
        let folder =
            std::env::temp_dir().join(format!("baro-serve-chromium-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let pipes = ["to", "from"].map(|name| folder.join(name));
        assert!(Command::new("mkfifo").args(&pipes).status().unwrap().success());
        // As root it has no sandbox; it meets no page but ours.
        let script = "exec chromium --headless --no-sandbox --disable-gpu --remote-debugging-pipe \
                      --window-size=1280,800 --user-data-dir=\"$1\" about:blank 3<\"$2\" 4>\"$3\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(folder.join("profile")).args(&pipes);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        // The shell opens them in this order, each as soon as its other end is there.
        let to = OpenOptions::new().write(true).open(&pipes[0]).unwrap();
        let from = BufReader::new(File::open(&pipes[1]).unwrap());
        let (session, said) = (String::new(), Vec::new());
        let mut chromium = Chromium { child, folder, to, from, session, messages: 0, said };
        // The page that it begins with: one that is behind another draws nothing.
        let is_page = |one: &&Value| one["type"] == "page";
        let target = loop {
            let all = chromium.tell("Target.getTargets", json!({}));
            let found = all["targetInfos"].as_array().unwrap().iter().find(is_page).cloned();
            if let Some(found) = found {
                break found;
            }
        };
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = chromium.tell("Target.attachToTarget", target);
        attached["sessionId"].as_str().unwrap().clone_into(&mut chromium.session);
        for domain in ["Runtime", "Log", "Page"] {
            chromium.tell(&format!("{domain}.enable"), json!({}));
        }
        Some(chromium)
    }

    /// Tells it something, and gives its result.
    fn tell(&mut self, method: &str, params: Value) -> Value {
        self.messages += 1;
        let mut message = json!({ "id": self.messages, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "chromium has ended");
            let told: Value = serde_json::from_slice(&bytes).unwrap();
            if told["id"] == self.messages {
                assert!(told["error"].is_null(), "{method}: {told}");
                return told["result"].clone();
            }
            let events = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
            if events.iter().any(|event| told["method"] == *event) {
                self.said.push(told["params"].to_string());
            }
        }
    }

    pub(crate) fn go(&mut self, address: &str) {
        self.tell("Page.navigate", json!({ "url": address }));
    }

    pub(crate) fn evaluate(&mut self, script: &str) -> Value {
        let told =
            self.tell("Runtime.evaluate", json!({ "expression": script, "returnByValue": true }));
        told["result"]["value"].clone()
    }

    /// Presses a key, by its name in JavaScript.
    pub(crate) fn key(&mut self, key: &str) {
        let text = if key.len() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({ "type": kind, "key": key, "text": text });
            self.tell("Input.dispatchKeyEvent", event);
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
