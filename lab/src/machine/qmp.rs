//! QEMU's control socket: commands and their answers, one JSON a line. Events are passed over.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// A connection that may give commands.
#[derive(Debug)]
pub(crate) struct Qmp {
    to: UnixStream,
    from: BufReader<UnixStream>,
}

/// Connects to a socket that is being made.
pub(crate) fn connect(path: &Path, within: Duration) -> Result<UnixStream, String> {
    let end = Instant::now() + within;
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() > end => {
                return Err(format!("{}: {error}", path.display()));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

impl Qmp {
    pub(crate) fn open(path: &Path) -> Result<Qmp, String> {
        let to = connect(path, Duration::from_secs(10))?;
        to.set_read_timeout(Some(Duration::from_secs(30))).map_err(|e| e.to_string())?;
        let from = BufReader::new(to.try_clone().map_err(|e| e.to_string())?);
        let mut qmp = Qmp { to, from };
        qmp.line()?;
        qmp.ask("qmp_capabilities", &json!({}))?;
        Ok(qmp)
    }

    fn line(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        let count = self.from.read_line(&mut line).map_err(|e| format!("control socket: {e}"))?;
        if count == 0 {
            return Err("QEMU has closed its control socket".to_owned());
        }
        serde_json::from_str(&line).map_err(|error| format!("control socket: {error}: {line}"))
    }

    /// Gives a command and returns what it answers.
    pub(crate) fn ask(&mut self, command: &str, arguments: &Value) -> Result<Value, String> {
        let asked = json!({ "execute": command, "arguments": arguments }).to_string() + "\n";
        self.to.write_all(asked.as_bytes()).map_err(|e| format!("control socket: {e}"))?;
        loop {
            let mut line = self.line()?;
            if let Some(error) = line.get("error") {
                return Err(format!("{command}: {}", error["desc"].as_str().unwrap_or("")));
            }
            if line.get("return").is_some() {
                return Ok(line["return"].take());
            }
        }
    }

    /// Asks until the answer's `status` is one of `wanted`, or `bad` appears.
    pub(crate) fn until(
        &mut self,
        command: &str,
        wanted: impl Fn(&str) -> bool,
        within: Duration,
    ) -> Result<String, String> {
        let end = Instant::now() + within;
        loop {
            let answer = self.ask(command, &json!({}))?;
            let status = answer["status"].as_str().unwrap_or("").to_owned();
            if wanted(&status) {
                return Ok(status);
            }
            if Instant::now() > end {
                return Err(format!("{command}: still '{status}' after {} s", within.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}
