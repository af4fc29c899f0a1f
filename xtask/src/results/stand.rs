//! A file system to measure on: `media` holding its disk for as long as we hold its stdin.
//!
//! Invariant: the stand is taken apart however this process ends: its command is a `cat`, which
//! ends when the pipe closes, and `media` then cleans up. No death signal is asked for: a dying
//! process with threads can send it twice, and the second ends `media` at once. Held by `media`'s
//! own tests.

use super::shell::Shell;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What `media` may need to unmount a slow disk with dirty pages.
const END_LIMIT: Duration = Duration::from_secs(180);

/// A mounted file system; unmounted on drop.
#[derive(Debug)]
pub(super) struct Stand {
    child: Child,
    dir: PathBuf,
}

impl Stand {
    /// Makes a disk as the options of `media` say, its backing file in `work`.
    ///
    /// # Errors
    /// What `media` complained about.
    pub(super) fn build(media: &Path, work: &Path, options: &[&str]) -> Result<Stand, String> {
        let mut child = Command::new(media)
            .arg("--dir")
            .arg(work)
            .args(options)
            .args(["--", "sh", "-c", "echo \"$MEDIA_DIR\"; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", media.display()))?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            let _ = BufReader::new(stdout).read_line(&mut line);
        }
        let dir = PathBuf::from(line.trim_end());
        if !dir.as_os_str().is_empty() {
            return Ok(Stand { child, dir });
        }
        let mut said = String::new();
        if let Some(stderr) = &mut child.stderr {
            let _ = stderr.read_to_string(&mut said);
        }
        let _ = child.wait();
        Err(said.trim().lines().collect::<Vec<_>>().join("; "))
    }

    /// `shell` with the file system in $MEDIA_DIR.
    pub(super) fn shell(&self, shell: &Shell) -> Shell {
        shell.with("MEDIA_DIR", &self.dir)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begin.elapsed() > END_LIMIT {
                // What it leaves is removed by the next `media` in the same folder.
                let _ = self.child.kill();
                let _ = self.child.wait();
                eprintln!("results: media did not end; its disk may still be attached");
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The options as a person would type them.
pub(super) fn typed(options: &[&str]) -> String {
    let quoted = |option: &&str| {
        if option.contains(' ') { format!("'{option}'") } else { (*option).to_owned() }
    };
    format!("media {}", options.iter().map(quoted).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    #[test]
    fn options_are_typed_as_a_shell_wants_them() {
        let typed = super::typed(&["--write", "60MB", "--mkfs-opts", "-J size=8"]);
        assert_eq!(typed, "media --write 60MB --mkfs-opts '-J size=8'");
    }
}
