//! A folder of a test's own, removed at its end.

use std::path::PathBuf;

pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        Self::of(&std::env::temp_dir(), name)
    }

    /// In memory, if there is room for `bytes`: for what does not need a device.
    #[allow(dead_code, reason = "most tests are of what a device does too")]
    pub(crate) fn in_memory(name: &str, bytes: u64) -> Self {
        let memory = std::path::Path::new("/dev/shm");
        let found = baro_sys::identity::FileSystem::of(memory);
        match found.is_ok_and(|found| found.name() == "tmpfs" && found.available_bytes > bytes) {
            true => Self::of(memory, name),
            false => Self::new(name),
        }
    }

    fn of(base: &std::path::Path, name: &str) -> Self {
        let name = format!("baro-{name}-{}", std::process::id());
        let path = base.join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A name in it, as an argument.
    #[allow(dead_code, reason = "not every test names files")]
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
