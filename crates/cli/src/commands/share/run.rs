//! `baro share run`: one group around a command, or around processes that run already.

use super::hold::{Held, hold};
use super::{Folders, disks};
use crate::commands::Format;
use crate::failure::{Outcome, Result};
use crate::size;
use baro_share::{Asked, Cut, Pieces, Policy, Weight};
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "Example: baro share run --weight 800 -- ./player")]
pub(crate) struct Arguments {
    /// Weight of the group against others: 1 to 1000
    #[arg(long, default_value_t, value_name = "N")]
    weight: Weight,
    /// Name of the group [default: the command's]
    ///
    /// PARENT/NAME for one in another.
    #[arg(long)]
    name: Option<String>,
    /// A disk, or a folder on it [default: the current folder]
    ///
    /// On which the group has its share. May be given more than once.
    #[arg(long, value_name = "PATH")]
    on: Vec<PathBuf>,
    /// Largest piece of a direct I/O: auto, off or 8M
    ///
    /// Or 16M:4M for reads and writes.
    #[arg(long, value_name = "SIZE", value_parser = cut)]
    piece: Option<Cut>,
    /// One request at a time on the disk
    ///
    /// For programs that cannot be cut; costs throughput.
    #[arg(long)]
    strict: bool,
    /// Also put this running process into the group
    ///
    /// Until the end. May be given more than once.
    #[arg(long, value_name = "PID")]
    pid: Vec<u32>,
    #[command(flatten)]
    folders: Folders,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
    /// The command; ends with its exit code
    ///
    /// Without one the group is held until Ctrl-C. Own failures are 125, a command that cannot be run 126,
    /// one that is not there 127.
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "pid")]
    command: Vec<OsString>,
}

/// `auto`, `off`, one size or two.
pub(super) fn cut(text: &str) -> std::result::Result<Cut, String> {
    match text {
        "auto" => Ok(Cut::Auto),
        "off" => Ok(Cut::Off),
        _ => {
            let (read, write) = text.split_once(':').unwrap_or((text, text));
            let (read_bytes, write_bytes) = (size::bytes(read)?, size::bytes(write)?);
            let least = baro_share::plan::PIECE_BYTES_MIN;
            if read_bytes < least || write_bytes < least {
                return Err(format!("expected pieces of at least {}", size::show_bytes(least)));
            }
            Ok(Cut::Fixed(Pieces { read_bytes, write_bytes }))
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    let name = match (&arguments.name, arguments.command.first()) {
        (Some(name), _) => name.clone(),
        (None, Some(program)) => name_of(Path::new(program)),
        (None, None) => arguments.pid.first().map_or_else(String::new, |pid| format!("pid-{pid}")),
    };
    let asked = Asked {
        name,
        weight: arguments.weight,
        disks: disks(&arguments.on)?,
        adopted: None,
        cut: arguments.piece,
    };
    let held = Held { asked, command: arguments.command.clone(), pids: arguments.pid.clone() };
    let policy = Policy { strict: arguments.strict, ..Policy::default() };
    hold(&[held], policy, &arguments.folders, arguments.format)
}

/// A name of what the program's file is called.
fn name_of(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = name.chars().map(|c| if fit(c) { c } else { '_' }).take(60).collect();
    name.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_are_names_of_groups() {
        assert_eq!(name_of(Path::new("/usr/bin/python3.11")), "python3.11");
        assert_eq!(name_of(Path::new("./my player")), "my_player");
        assert_eq!(
            cut("16M:4M"),
            Ok(Cut::Fixed(Pieces { read_bytes: 16 << 20, write_bytes: 4 << 20 }))
        );
        assert!(cut("1k").is_err() && cut("x").is_err());
    }
}
