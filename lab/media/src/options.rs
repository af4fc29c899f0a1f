//! The command line of `media`.
//!
//! Written by hand: the tool has ten options and no other use for a parser.
//! Invariant: nothing is changed on the machine before the whole line is understood. Held by the
//! order of things in `main.rs` and by the tests below.

use crate::model::Speed;
use std::path::PathBuf;

/// What the user gets on `--help` and with every complaint.
pub(crate) const USAGE: &str = "\
media: run a command on a modelled slow disk (FUSE file -> loop device -> ext4). Needs root.

usage: media [options] -- COMMAND [ARGUMENT...]
       media board [options] -- COMMAND [ARGUMENT...]   (media board --help)
  --size 4G            size of the disk
  --write 12M          bytes a second, writing
  --read 40M           bytes a second, reading
  --op-latency-us 50   fixed time of each operation
  --flush-ms 2         time of a flush of the disk's cache
  --queue-depth 32     requests that the device takes at once; the loop device's 128 without it
  --request-kb 512     largest request in KiB; the loop device's own without it
  --rate none          no model: a loop device on a plain file
  --mkfs-opts OPTS     more options of mkfs.ext4, e.g. \"-J size=8\"
  --mount-opts OPTS    options of mount -o, e.g. noatime
  --dir DIR            where the sparse backing file and the mount points live
K, M, G are powers of 1024; kB, MB, GB powers of 1000. The command finds the file system at
$MEDIA_DIR and the block device at $MEDIA_DEVICE. media ends with the command's exit code, or 1 if
it could not do its work, 2 on wrong usage.";

/// A complete request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) size_bytes: u64,
    /// None: a plain loop device.
    pub(crate) speed: Option<Speed>,
    /// Settings of the loop device's queue: file and value.
    pub(crate) queue: Vec<(&'static str, u32)>,
    pub(crate) mkfs_options: Vec<String>,
    pub(crate) mount_options: Option<String>,
    pub(crate) dir: PathBuf,
    pub(crate) command: Vec<String>,
}

/// Reads the arguments after the program's name. `Ok(None)`: help was asked for.
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = String>,
) -> Result<Option<Options>, String> {
    let mut speed = Speed {
        read_bytes_per_s: 40 << 20,
        write_bytes_per_s: 12 << 20,
        operation_latency_ns: 50_000,
        flush_ns: 2_000_000,
    };
    let mut modelled = true;
    let mut options = Options {
        size_bytes: 4 << 30,
        speed: None,
        queue: Vec::new(),
        mkfs_options: Vec::new(),
        mount_options: None,
        dir: std::env::temp_dir(),
        command: Vec::new(),
    };
    let command = split(arguments, |name, value| {
        match name {
            "--size" => options.size_bytes = bytes(name, &value)?,
            "--write" => speed.write_bytes_per_s = bytes(name, &value)?,
            "--read" => speed.read_bytes_per_s = bytes(name, &value)?,
            "--op-latency-us" => speed.operation_latency_ns = scaled(name, &value, 1e3)?,
            "--flush-ms" => speed.flush_ns = scaled(name, &value, 1e6)?,
            "--queue-depth" => options.queue.push(("nr_requests", count(name, &value)?)),
            "--request-kb" => options.queue.push(("max_sectors_kb", count(name, &value)?)),
            "--mkfs-opts" => {
                options.mkfs_options = value.split_whitespace().map(str::to_owned).collect();
            }
            "--mount-opts" => options.mount_options = Some(value),
            "--dir" => options.dir = PathBuf::from(value),
            "--rate" if value == "none" => modelled = false,
            "--rate" => return Err(format!("--rate {value}: only \"none\" is known")),
            _ => return Err(format!("unknown option {name}")),
        }
        Ok(())
    })?;
    let Some(command) = command else { return Ok(None) };
    options.command = command;
    if options.size_bytes < 16 << 20 {
        return Err("--size: an ext4 with a journal needs at least 16M".to_owned());
    }
    // Whole sectors of the largest usual size.
    options.size_bytes &= !4095;
    options.speed = modelled.then_some(speed);
    Ok(Some(options))
}

/// Hands each option and its value to `option`; returns the command behind `--`, or `None` if help
/// was asked for.
pub(crate) fn split(
    arguments: impl IntoIterator<Item = String>,
    mut option: impl FnMut(&str, String) -> Result<(), String>,
) -> Result<Option<Vec<String>>, String> {
    let mut arguments = arguments.into_iter();
    loop {
        let Some(name) = arguments.next() else {
            return Err("no command: give it after --".to_owned());
        };
        match name.as_str() {
            "--" => break,
            "-h" | "--help" => return Ok(None),
            _ => {}
        }
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        option(&name, value)?;
    }
    let command: Vec<String> = arguments.collect();
    if command.is_empty() {
        return Err("no command after --".to_owned());
    }
    Ok(Some(command))
}

pub(crate) fn count(name: &str, value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| format!("{name} {value}: not a number"))
}

pub(crate) fn bytes(name: &str, value: &str) -> Result<u64, String> {
    let digits = value.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: u64 = match &value[digits.len()..] {
        "" => 1,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        other => return Err(format!("{name} {value}: unknown unit {other:?}")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("{name} {value}: not a number"))?;
    number
        .checked_mul(unit)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("{name} {value}: out of range"))
}

fn scaled(name: &str, value: &str, unit_ns: f64) -> Result<u64, String> {
    match value.parse::<f64>() {
        // An hour is more than any device takes; it also keeps the conversion exact.
        Ok(number) if (0.0..=3.6e12).contains(&(number * unit_ns)) => {
            Ok((number * unit_ns).round() as u64)
        }
        _ => Err(format!("{name} {value}: not a duration")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn line(text: &str) -> Result<Option<super::Options>, String> {
        parse(text.split(' ').map(str::to_owned))
    }

    #[test]
    fn reads_sizes_times_and_the_command() {
        let options = line("--size 1G --write 12MB --op-latency-us 0.5 --flush-ms 3 -- ls -l --x")
            .expect("valid")
            .expect("not help");
        let speed = options.speed.expect("modelled");
        assert_eq!(options.size_bytes, 1 << 30);
        assert_eq!(speed.write_bytes_per_s, 12_000_000);
        assert_eq!(speed.operation_latency_ns, 500);
        assert_eq!(speed.flush_ns, 3_000_000);
        assert_eq!(options.command, ["ls", "-l", "--x"]);
    }

    #[test]
    fn no_rate_means_no_model() {
        let options = line("--rate none -- true").expect("valid").expect("not help");
        assert_eq!(options.speed, None);
        assert_eq!(line("--help"), Ok(None));
    }

    #[test]
    fn complains_about_what_it_does_not_know() {
        for wrong in [
            "",
            "--size",
            "--size 4X -- true",
            "--size 0 -- true",
            "--size é -- true",
            "--size 99999999999G -- true",
            "--flush-ms -1 -- true",
            "--flush-ms NaN -- true",
            "--rate 7 -- true",
            "--colour red -- true",
            "--size 1G --",
            "--size 1M -- true",
        ] {
            assert!(line(wrong).is_err(), "{wrong:?}");
        }
    }
}
