//! `baro share install`: a service that holds the groups of a profile from boot on.
//!
//! For each group of a unit a drop-in loads the interposer into that unit's programs and orders it
//! after the service, so that its pieces are there when its programs begin. Nothing else of the unit
//! is touched; without the service its programs pass through the interposer as if it were not there.
//!
//! Invariant: `--remove` leaves nothing that an install wrote, and what somebody else wrote stays.
//! Held by `tests/share_install.rs`.

use super::profile::{self, Group};
use crate::commands::units::{self, There, UNITS, WANTED, look, plain, tell};
use crate::failure::{Outcome, Result};
use baro_share::member::find_interposer;
use baro_sys::{files, schedule};
use clap::Args;
use std::path::{Path, PathBuf};

const NAME: &str = "barograph-share.service";
const DROP_IN: &str = "50-barograph-share.conf";
const MARKER: &str =
    "# Written by `baro share install`; it replaces and removes only what begins so.";

#[derive(Debug, Args)]
#[command(after_help = "Example: baro share install /etc/barograph/share.toml")]
pub(crate) struct Arguments {
    /// The profile; it stays where it is and is read by the service
    #[arg(default_value = "/etc/barograph/share.toml")]
    profile: PathBuf,
    /// Install below this folder, which becomes / of another machine
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Undo it: stop the service, remove its unit and the drop-ins
    #[arg(long, conflicts_with = "print")]
    remove: bool,
    /// Only show the files
    #[arg(long)]
    print: bool,
    /// Also replace or remove files of these names that we did not write
    #[arg(long)]
    replace: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    let is_here = arguments.root == Path::new("/");
    if is_here && !arguments.print && !schedule::is_root() {
        return Err("needs root, to write units: call it with sudo; --print shows the files, \
                    --root DIR installs below a folder of your own"
            .into());
    }
    let folder = arguments.root.join(UNITS);
    let manager = is_here && Path::new("/run/systemd/system").exists();
    if arguments.remove {
        return remove(arguments, manager, &folder);
    }
    let groups = profile::groups(&arguments.profile)?;
    let mut files = vec![(folder.join(NAME), service(&arguments.profile, &groups)?)];
    for group in &groups {
        if let Some(unit) = &group.unit {
            let dir = folder.join(format!("{}.d", plain_unit(unit)?));
            files.push((dir.join(DROP_IN), drop_in(&group.name)?));
        }
    }
    if arguments.print {
        for (path, text) in &files {
            out!("# {}", path.display());
            baro_command::print_lines(text)?;
            out!();
        }
        return Ok(Outcome::Done);
    }
    for (path, _) in &files {
        if look(path, MARKER)? == There::Foreign && !arguments.replace {
            return Err(foreign(path).into());
        }
    }
    if is_here {
        units::check_is_roots(&arguments.profile)?;
        units::check_is_roots(&std::env::current_exe()?)?;
        find_interposer().map_or(Ok(()), |interposer| units::check_is_roots(&interposer))?;
    }
    // Drop-ins of groups that the profile has no more.
    remove_drop_ins(arguments, &folder, &files)?;
    for (path, text) in &files {
        units::write(&arguments.root, path, text)?;
        out!("{}: written", path.display());
    }
    tell(manager, NAME, &[&["daemon-reload"], &["enable", NAME], &["restart", NAME]])?;
    let units: Vec<&str> = groups.iter().filter_map(|group| group.unit.as_deref()).collect();
    if !units.is_empty() {
        out!(
            "programs that run already are not cut; when it suits: systemctl restart {}",
            units.join(" ")
        );
    }
    Ok(Outcome::Done)
}

fn foreign(path: &Path) -> String {
    format!(
        "{}: expected a file of ours, found one without our first line ({MARKER:?}); it is left as \
         it is, --replace takes its place",
        path.display()
    )
}

/// The name of a unit as a folder and a line of a unit can have it.
fn plain_unit(unit: &str) -> Result<&str> {
    let fit = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
    if unit.ends_with(".service") && unit.len() > 8 && unit.chars().all(fit) {
        return Ok(unit);
    }
    Err(format!("unit {unit:?}: expected the name of a service, as player.service").into())
}

fn service(profile: &Path, groups: &[Group]) -> Result<String> {
    let program = std::env::current_exe().map_err(|error| {
        format!("cannot tell which program this is: {error}; is /proc mounted?")
    })?;
    let profile = std::path::absolute(profile)?;
    let units: Vec<&str> = groups.iter().filter_map(|group| group.unit.as_deref()).collect();
    let before =
        if units.is_empty() { String::new() } else { format!("Before={}\n", units.join(" ")) };
    Ok(format!(
        "{MARKER}
[Unit]
Description=Barograph, holds shares of disks
After=local-fs.target
{before}
[Service]
Type=exec
ExecStart={} share hold {}
Restart=on-failure
RestartSec=5
# A mistake in the profile would be the same the next time.
RestartPreventExitStatus=2
# It makes groups of its own beside those of systemd, and writes files of queues.
Delegate=no
NoNewPrivileges=yes
ProtectHome=read-only
PrivateTmp=yes
PrivateNetwork=yes

[Install]
WantedBy=multi-user.target
",
        plain("this program", &program)?,
        plain("the profile", &profile)?,
    ))
}

fn drop_in(group: &str) -> Result<String> {
    let interposer =
        find_interposer().unwrap_or_else(|| "/usr/lib/barograph/libbaro_preload.so".into());
    Ok(format!(
        "{MARKER}
[Unit]
Wants={NAME}
After={NAME}

[Service]
Environment=LD_PRELOAD={} BARO_SHARE=/run/barograph-share/{}
",
        plain("the interposer", &interposer)?,
        group.replace('/', "+"),
    ))
}

/// Removes our drop-ins, but for those in `keep`.
fn remove_drop_ins(arguments: &Arguments, folder: &Path, keep: &[(PathBuf, String)]) -> Result<()> {
    if !files::exists(folder) {
        return Ok(());
    }
    for name in files::list(folder)?.iter().filter(|name| name.ends_with(".d")) {
        let path = folder.join(name).join(DROP_IN);
        if keep.iter().any(|(kept, _)| *kept == path) {
            continue;
        }
        match look(&path, MARKER)? {
            There::Nothing => continue,
            There::Foreign if !arguments.replace => return Err(foreign(&path).into()),
            _ => units::remove(&arguments.root, &path)?,
        }
        units::remove_if_empty(&arguments.root, &folder.join(name));
        out!("{}: removed", path.display());
    }
    Ok(())
}

fn remove(arguments: &Arguments, manager: bool, folder: &Path) -> Result<Outcome> {
    let path = folder.join(NAME);
    match look(&path, MARKER)? {
        There::Foreign if !arguments.replace => return Err(foreign(&path).into()),
        There::Nothing => out!("{}: not there", path.display()),
        _ => {
            tell(manager, NAME, &[&["disable", "--now", NAME]])?;
            units::remove(&arguments.root, &path)?;
            out!("{}: removed", path.display());
        }
    }
    remove_drop_ins(arguments, folder, &[])?;
    // Of an image nobody is told: what enabling there has made.
    let wanted = folder.join(WANTED).join(NAME);
    units::remove(&arguments.root, &wanted)?;
    tell(manager, NAME, &[&["daemon-reload"]])?;
    Ok(Outcome::Done)
}
