//! The command line of `lab run`.

use crate::kernels::{self, Wanted};
use crate::machine::Hardware;
use crate::machine::disk;
use crate::project::Profile;
use crate::run::Job;
use std::path::PathBuf;
use std::time::Duration;

/// Reads the options and the command after `--`.
pub(crate) fn job(args: &[&str]) -> Result<Job, String> {
    let mut job = Job {
        kernel: kernels::series("6.1")?,
        wanted: Wanted::Locked,
        disk: disk::model("none")?,
        fs: "ext4".to_owned(),
        mount: String::new(),
        mkfs: String::new(),
        scheduler: None,
        hardware: Hardware::default(),
        within: Duration::from_secs(120),
        bring: Vec::new(),
        with: Vec::new(),
        out: None,
        profile: Profile::Release,
        command: Vec::new(),
    };
    let mut args = args.iter().copied();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg {
            "--" => {
                job.command = args.map(str::to_owned).collect();
                break;
            }
            "--kernel" => job.kernel = kernels::series(value()?)?,
            "--newest" => job.wanted = Wanted::Newest,
            "--counted" => {
                job.hardware = Hardware { counted: true, processors: 1, ..job.hardware };
            }
            "--disk" => job.disk = disk::model(value()?)?,
            "--fs" => job.fs = one_of("file system", value()?, &["ext4", "f2fs", "none"])?,
            "--mount" => job.mount = value()?.to_owned(),
            "--mkfs" => job.mkfs = value()?.to_owned(),
            "--scheduler" => job.scheduler = Some(value()?.to_owned()),
            "--memory" => {
                let bytes = size(value()?)?;
                job.hardware.memory_mib = u32::try_from(bytes >> 20).map_err(|e| e.to_string())?;
                if job.hardware.memory_mib < 128 {
                    return Err("--memory: at least 128M".to_owned());
                }
            }
            "--disk-size" => {
                job.hardware.disk_bytes = size(value()?)?;
                if !job.hardware.disk_bytes.is_power_of_two() {
                    return Err(
                        "--disk-size: a power of two, as SD cards are (1G, 2G, 4G)".to_owned()
                    );
                }
            }
            "--time" => {
                let text = value()?;
                let seconds = text.strip_suffix('s').unwrap_or(text).parse::<u64>();
                let seconds =
                    seconds.map_err(|_| format!("--time: seconds expected, found {text}"))?;
                job.within = Duration::from_secs(seconds);
            }
            "--in" => {
                let text = value()?;
                let (host, guest) = match text.split_once(':') {
                    Some((host, guest)) => (PathBuf::from(host), guest.to_owned()),
                    None => {
                        let host = PathBuf::from(text);
                        let name =
                            host.file_name().ok_or_else(|| format!("--in: no file {text}"))?;
                        let guest = format!("/{}", name.to_string_lossy());
                        (host, guest)
                    }
                };
                job.bring.push((host, guest));
            }
            "--with" => job.with.push(value()?.to_owned()),
            "--out" => job.out = Some(PathBuf::from(value()?)),
            "--test-profile" => job.profile = Profile::Test,
            other => return Err(format!("unknown option {other}")),
        }
    }
    if job.command.is_empty() {
        return Err("no command given after --".to_owned());
    }
    Ok(job)
}

fn one_of(what: &str, found: &str, known: &[&str]) -> Result<String, String> {
    if known.contains(&found) {
        return Ok(found.to_owned());
    }
    Err(format!("no {what} '{found}'; there are {}", known.join(" ")))
}

/// Bytes: a number with K, M or G.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        Some(b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number =
        number.parse::<u64>().map_err(|_| format!("a size expected (512M), found {text}"))?;
    number
        .checked_shl(shift)
        .filter(|bytes| bytes >> shift == number)
        .ok_or(format!("{text}: too much"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let line = "--kernel 6.12-rt --disk emmc --fs f2fs --memory 1G --time 30s --in a/b --in c:/d \
                    --out /tmp/x -- baro record --for 5s";
        let job = job(&line.split(' ').collect::<Vec<_>>()).unwrap();
        assert_eq!((job.kernel.name, job.disk.name, job.fs.as_str()), ("6.12-rt", "emmc", "f2fs"));
        assert_eq!((job.hardware.memory_mib, job.within.as_secs()), (1024, 30));
        assert_eq!(job.bring, [("a/b".into(), "/b".to_owned()), ("c".into(), "/d".to_owned())]);
        assert_eq!(job.command, ["baro", "record", "--for", "5s"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "",
            "--",
            "baro",
            "--kernel 2.6 -- x",
            "--disk tape -- x",
            "--fs xfs -- x",
            "--fs",
            "--disk-size 3G -- x",
            "--memory 1M -- x",
            "--memory much -- x",
            "--time soon -- x",
            "--in -- x",
            "--disk-size 99999999999G -- x",
        ] {
            let args: Vec<_> = line.split(' ').filter(|word| !word.is_empty()).collect();
            assert!(job(&args).is_err(), "{line}");
        }
    }
}
