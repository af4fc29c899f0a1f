//! A loop device of a test's own with a mounted ext4, its settings as found when dropped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIMIT: [&str; 2] = ["max_ratio_fine", "strict_limit"];

pub(crate) struct LoopDevice {
    /// `loop3`.
    name: String,
    mount: PathBuf,
    /// A loop device keeps its settings when it is detached.
    defaults: Vec<(String, String)>,
    limit: Vec<String>,
}

#[allow(dead_code, reason = "not every test looks at everything")]
impl LoopDevice {
    /// In `folder`, mounted with `options`. An error says what is missing.
    pub(crate) fn mounted(folder: &Path, options: &str) -> Result<LoopDevice, String> {
        if !baro_sys::schedule::is_root() {
            return Err("loop devices and mounts need root".to_owned());
        }
        let (image, mount) = (folder.join("image"), folder.join("mnt"));
        fs::File::create(&image).and_then(|file| file.set_len(64 << 20)).unwrap();
        fs::create_dir(&mount).unwrap();
        output(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image))?;
        let shown = output(Command::new("losetup").args(["--find", "--show"]).arg(&image))?;
        let name = shown.trim().strip_prefix("/dev/").unwrap().to_owned();
        let mut device = LoopDevice { name, mount, defaults: Vec::new(), limit: Vec::new() };
        for file in ["max_sectors_kb", "nr_requests"] {
            let path = device.file(file);
            device.defaults.push((path.clone(), read(&path)));
        }
        for path in LIMIT.map(|file| device.bdi(file)) {
            if Path::new(&path).exists() {
                device.defaults.push((path.clone(), read(&path)));
            }
        }
        // So that a limit is something to be changed, whoever had the device before.
        let _ = fs::write(device.bdi("strict_limit"), "0");
        device.limit = device.limit();
        let file = format!("/dev/{}", device.name);
        output(Command::new("mount").args(["-o", options, &file]).arg(&device.mount))?;
        Ok(device)
    }

    pub(crate) fn mount_dir(&self) -> String {
        self.mount.to_str().unwrap().to_owned()
    }

    pub(crate) fn file(&self, name: &str) -> String {
        format!("/sys/block/{}/queue/{name}", self.name)
    }

    pub(crate) fn get(&self, name: &str) -> String {
        read(&self.file(name))
    }

    pub(crate) fn set(&self, name: &str, value: &str) {
        let _ = fs::write(self.file(name), value);
    }

    /// Every file of the queue that can be read, and the I/O priority of the journal's thread.
    pub(crate) fn queue(&self) -> BTreeMap<PathBuf, String> {
        let files = fs::read_dir(self.file("")).unwrap().map(|entry| entry.unwrap().path());
        let text = |path: PathBuf| Some((path.clone(), fs::read_to_string(path).ok()?));
        let journal = ("journal".into(), format!("{:?}", self.journal_priority()));
        files.filter_map(text).chain([journal]).collect()
    }

    /// Of `jbd2/loop3-8`.
    pub(crate) fn journal_priority(&self) -> Option<u16> {
        let begin = format!("jbd2/{}-", self.name);
        let tids = fs::read_dir("/proc").unwrap().flatten();
        let mut tids = tids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let tid = tids.find(|tid| read(&format!("/proc/{tid}/comm")).starts_with(&begin))?;
        baro_sys::schedule::io_priority(tid).ok()
    }

    /// Its limit of dirty data.
    pub(crate) fn limit(&self) -> Vec<String> {
        LIMIT.iter().map(|file| read(&self.bdi(file))).collect()
    }

    /// The same when it was made.
    pub(crate) fn limit_found(&self) -> Vec<String> {
        self.limit.clone()
    }

    fn bdi(&self, name: &str) -> String {
        format!("/sys/class/bdi/{}/{name}", read(&format!("/sys/block/{}/dev", self.name)))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        for (path, text) in &self.defaults {
            let _ = fs::write(path, text);
        }
        let _ = Command::new("umount").arg(&self.mount).output();
        let _ = Command::new("losetup").args(["--detach", &format!("/dev/{}", self.name)]).output();
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{name}: {said}")),
    }
}
