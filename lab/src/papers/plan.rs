//! What is run: jobs, each one guest and one file; and the lines of `lab share`.

use crate::machine::disk::{Driver, Model, model};
use std::time::Duration;

/// What a job leaves in its guest's /out.
pub(super) const LEFT: &str = "m.jsonl";
pub(super) const KERNELS: [&str; 5] = ["5.10", "6.1", "6.1-rt", "6.12", "6.12-rt"];
pub(super) const MEDIA: [&str; 4] = ["emmc", "sd", "hdd", "ssd"];
pub(super) const FILE_SYSTEMS: [&str; 2] = ["ext4", "f2fs"];
/// Paper A's options; f2fs has no other of them.
const RECORDING: [&str; 2] = ["noatime,lazytime", "noatime"];
/// Paper D's stall on its own terms, and with what mount does if nothing is said.
pub(super) const STALLS: [(&str, &str); 2] =
    [("ordered", "noatime,nodelalloc,dioread_lock,data=ordered"), ("default", "defaults")];
const GROUPS_V1: &str = include_str!("groups-v1.sh");
const STALL: &str = include_str!("stall.sh");
const DIFFERENCES: &str = include_str!("kernels.sh");

/// One guest, one file.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// `a/6.12-rt/emmc/ext4`: paper, kernel, medium, and what else tells it from others.
    pub(super) name: String,
    pub(super) kernel: &'static str,
    pub(super) disk: &'static Model,
    pub(super) fs: &'static str,
    pub(super) mount: &'static str,
    pub(super) memory_mib: u32,
    pub(super) disk_bytes: u64,
    pub(super) within: Duration,
    /// Exit codes of a measurement that is whole: some say that a goal was missed.
    pub(super) good_codes: &'static [i32],
    /// Further programs of the host.
    pub(super) with: &'static [&'static str],
    pub(super) processors: u8,
    /// Its clock counts instructions, not the host's time.
    pub(super) counted: bool,
    needs_v1: bool,
    /// The line that writes /out/m.jsonl.
    line: String,
}

impl Job {
    /// The name of its file in the folder of results.
    pub(super) fn file(&self) -> String {
        format!("{}.jsonl", self.name.replace('/', "-"))
    }

    /// Whether its guest may run beside others. A card takes the emulator more than a processor: one that
    /// writes 9.4 MB/s alone wrote 6.4 beside another guest. Who counts instructions is not disturbed.
    pub(super) fn leaves_a_processor(&self) -> bool {
        self.counted || self.processors == 1 && self.disk.driver != Driver::Mmc
    }

    /// What its guest's shell does.
    pub(super) fn script(&self) -> String {
        let before = if self.needs_v1 { GROUPS_V1 } else { "" };
        format!("{before}\n{}\n", self.line)
    }
}

/// A line of `lab share`, which keeps its rows by itself.
pub(super) struct Shares {
    pub(super) name: &'static str,
    pub(super) args: &'static str,
}

impl Shares {
    /// Where it measures the automatic cut: series of the kernel, disk, bytes of a call, direction.
    pub(super) fn places(&self) -> Vec<(&'static str, &'static str, u64, &'static str)> {
        let value = |name: &str| self.args.split(' ').skip_while(|word| *word != name).nth(1);
        let list = |name| value(name).unwrap_or("").split(',');
        let mut places = Vec::new();
        for (kernel, disk) in list("--kernel").flat_map(|k| list("--disk").map(move |d| (k, d))) {
            for mib in
                list("--blocks").filter_map(|text| text.strip_suffix('M')?.parse::<u64>().ok())
            {
                places.extend(["read", "write"].map(|way| (kernel, disk, mib << 20, way)));
            }
        }
        places
    }
}

/// Paper B: the card of its year first.
pub(super) const SHARES: [Shares; 5] = [
    Shares {
        name: "share/flash",
        args: "--kernel 5.10,6.1,6.12 --disk flash --blocks 100M --setting default,auto --repeats 3",
    },
    Shares {
        name: "share/flash-1M",
        args: "--kernel 5.10,6.12 --disk flash --blocks 1M,10M --setting auto",
    },
    Shares {
        name: "share/sd",
        args: "--kernel 5.10 --disk sd --blocks 100M --setting default,auto --repeats 3",
    },
    Shares {
        name: "share/sd-1M",
        args: "--kernel 5.10 --disk sd --blocks 1M,10M --setting default,auto",
    },
    Shares {
        name: "share/emmc",
        args: "--kernel 6.1,6.12 --disk emmc --blocks 100M --setting default,auto --repeats 3",
    },
];

/// All jobs, in the order in which they are run.
pub(super) fn jobs() -> Vec<Job> {
    let mut jobs = Vec::new();
    for kernel in KERNELS {
        jobs.push(Job {
            within: Duration::from_secs(180),
            with: &["fio"],
            ..job(format!("kernels/{kernel}"), kernel, "flash", "ext4", DIFFERENCES.to_owned())
        });
    }
    for (stall, mount) in STALLS {
        jobs.extend(KERNELS.map(|kernel| self::stall(kernel, stall, mount)));
    }
    for kernel in KERNELS {
        for medium in MEDIA {
            for (fs, mount) in FILE_SYSTEMS.into_iter().zip(RECORDING) {
                jobs.extend(recording(kernel, medium, fs, mount));
            }
        }
    }
    jobs.extend([("6.12", "hdd"), ("6.12", "ssd"), ("5.10", "hdd"), ("5.10", "ssd")].map(files));
    jobs
}

fn job(name: String, kernel: &'static str, disk: &str, fs: &'static str, line: String) -> Job {
    Job {
        name,
        kernel,
        #[allow(clippy::expect_used, reason = "of this table, held by the test")]
        disk: model(disk).expect("a model of this name"),
        fs,
        mount: "",
        memory_mib: 512,
        disk_bytes: 2 << 30,
        within: Duration::from_secs(120),
        good_codes: &[0],
        with: &[],
        processors: 2,
        counted: false,
        needs_v1: false,
        line,
    }
}

/// Paper A, table 2: three of its cases; and pushes enough for a quantile of 99.99 %.
fn recording(
    kernel: &'static str,
    medium: &'static str,
    fs: &'static str,
    mount: &'static str,
) -> [Job; 2] {
    let bench = "baro bench recorder --dir /mnt --sets 1 --file 32M --no-trace --out /out/m.jsonl \
                 --html /out/m.html --format json";
    let line = |rest: &str| format!("{bench} {rest} >/out/said");
    let place = format!("{kernel}/{medium}/{fs}");
    // The guest's flusher is its own to set: off as the paper has it in ALL.
    let cases = "--machine-wide --writes 1000 --only case/NONE/,case/ALL/,case/ALL-BGALL/";
    let cases = job(format!("a/{place}"), kernel, medium, fs, line(cases));
    let pushes = "--writes 10000 --only barograph/BGALL";
    let pushes = job(format!("push/{place}"), kernel, medium, fs, line(pushes));
    // One call in 10,000 is as slow as the host is busy, unless the guest's clock does not see it.
    let pushes = Job { counted: true, ..pushes };
    // A claim that does not hold is a result: exit code 3.
    [cases, pushes].map(|job| Job {
        mount,
        good_codes: &[0, 3],
        processors: 1,
        within: Duration::from_secs(300),
        ..job
    })
}

/// Paper D: the stall and its remedy, traced and explained.
fn stall(kernel: &'static str, name: &str, mount: &str) -> Job {
    let line = format!("MOUNT={mount}\n{STALL}");
    Job {
        needs_v1: true,
        with: &["baro-lab", "lsblk"],
        memory_mib: 2048,
        good_codes: &[0, 3],
        within: Duration::from_secs(240),
        ..job(format!("d/{kernel}/{name}"), kernel, "none", "ext4", line)
    }
}

/// Paper C at a hundredth of its sizes.
fn files((kernel, device): (&'static str, &'static str)) -> Job {
    let only = "matrix/F=1/,matrix/F=100/,matrix/F=10000/,matrix/F=100000/,matrix/F=1000000/,f2fs,store,fsync";
    let line = format!(
        "baro-lab files --dir /mnt --device {device} --scale 100 --only {only} --out /out/m.jsonl \
         --html /out/m.html --format json >/out/said"
    );
    Job {
        needs_v1: true,
        with: &["baro-lab", "lsblk"],
        memory_mib: 2048,
        disk_bytes: 4 << 30,
        good_codes: &[0, 3],
        within: Duration::from_secs(3000),
        ..job(format!("c/{kernel}/{device}"), kernel, "none", "ext4", line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_cell_has_a_file_of_its_own() {
        let jobs = jobs();
        let files: BTreeSet<String> = jobs.iter().map(Job::file).collect();
        assert_eq!(files.len(), jobs.len());
        for kernel in KERNELS {
            assert!(crate::kernels::series(kernel).is_ok());
            for medium in MEDIA {
                for fs in FILE_SYSTEMS {
                    assert!(files.contains(&format!("a-{kernel}-{medium}-{fs}.jsonl")));
                    assert!(files.contains(&format!("push-{kernel}-{medium}-{fs}.jsonl")));
                }
            }
        }
        assert!(jobs.iter().all(|job| job.script().contains(LEFT)));
    }

    #[test]
    fn places_of_shares_are_counted() {
        let places: BTreeSet<_> = SHARES.iter().flat_map(Shares::places).collect();
        assert_eq!(places.len(), 24);
        assert!(places.contains(&("5.10", "sd", 10 << 20, "write")));
    }
}
