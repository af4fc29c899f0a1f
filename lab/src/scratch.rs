//! Files and folders of one run in the temporary folder. What is left by a lab that was killed is
//! removed by the next.

use crate::tool::at;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// A name in the temporary folder that nobody else has. Short: paths of sockets are at most 107
/// bytes.
pub(crate) fn tempfile(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    static FIRST: Once = Once::new();
    FIRST.call_once(remove_leftovers);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("baro-lab-{}-{name}-{number}", std::process::id()))
}

/// A new folder there.
pub(crate) fn tempfolder(name: &str) -> Result<PathBuf, String> {
    let folder = tempfile(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    Ok(folder)
}

fn remove_leftovers() {
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix("baro-lab-").and_then(|rest| rest.split('-').next());
        let Some(pid) = pid.and_then(|pid| pid.parse::<u32>().ok()) else { continue };
        if !Path::new(&format!("/proc/{pid}")).exists() {
            let path = entry.path();
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}

/// Removes a file or a folder on drop.
#[derive(Debug)]
pub(crate) struct Remove(pub(crate) PathBuf);

impl Drop for Remove {
    fn drop(&mut self) {
        let _ = match self.0.is_dir() {
            true => fs::remove_dir_all(&self.0),
            false => fs::remove_file(&self.0),
        };
    }
}
