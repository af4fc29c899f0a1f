//! Child processes: this test binary again, told by its environment which part to play. A child is
//! killed when its handle is dropped, and ends by itself when the test process has gone.

use super::scene::Scene;
use std::ffi::OsStr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A child that plays a role.
pub struct Role {
    child: Child,
}

/// A command that plays `role` in `scene`. On a board's emulator the kernel does not start the program by
/// itself.
pub fn command(program: impl AsRef<OsStr>, role: &str, scene: &Scene) -> Command {
    let mut command = match std::env::var_os("BARO_RUN") {
        None => Command::new(program),
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.arg(program);
            command
        }
    };
    command
        .args(["--exact", "role", "--nocapture", "--test-threads=1"])
        .env("BARO_REAL_ROLE", role)
        .env("BARO_REAL_STORE", scene.store())
        .env("BARO_REAL_SHARED", scene.shared())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// Plays `role` to its end with a tracefs that nobody else sees, in a mount namespace of its own.
/// `false`, said why, where there is no such thing.
pub fn play_with_own_tracefs(role: &str, scene: &Scene) -> bool {
    let mount_and_run = "mount -t tracefs none /sys/kernel/tracing 2>/dev/null; exec \"$@\"";
    let role = command(std::env::current_exe().unwrap(), role, scene);
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", mount_and_run, "sh"]);
    unshare.arg(role.get_program()).args(role.get_args()).stdout(Stdio::inherit());
    for (name, value) in role.get_envs() {
        value.map(|value| unshare.env(name, value));
    }
    match unshare.status() {
        Ok(status) => assert!(status.success(), "{status}"),
        Err(reason) => {
            println!("skipped: unshare: {reason}");
            return false;
        }
    }
    true
}

impl Role {
    pub fn start(role: &str, scene: &Scene) -> Self {
        let program = std::env::current_exe().unwrap();
        Role { child: command(program, role, scene).spawn().unwrap() }
    }

    /// SIGKILL, and waits for the end: its locks are gone afterwards.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGKILL to all before waiting for any.
    pub fn kill_all(roles: Vec<Role>) {
        let mut roles = roles;
        roles.iter_mut().for_each(|role| role.child.kill().unwrap());
        roles.iter_mut().for_each(|role| {
            let _ = role.child.wait().unwrap();
        });
    }

    /// Waits for the child's own end, which must be a good one.
    pub fn join(mut self) {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "child ended with {status}");
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn sleep_ms(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// Waits for a condition that must come true; gives up loudly after a minute.
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if condition() {
            return;
        }
        sleep_ms(2);
    }
    panic!("gave up waiting for {what}");
}

/// Runs a tool and returns what it prints, or why it failed.
pub fn tool(program: &str, arguments: &[&OsStr]) -> Result<String, String> {
    let out = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned());
    }
    Err(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&out.stderr).trim()))
}
