//! A folder for one test: the store, the file of statements, and copies of the store.

use lab_load::{STATEMENT_BYTES, Statement};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static PLACES: AtomicU32 = AtomicU32::new(0);

pub struct Place(PathBuf);

impl Place {
    /// In turn below the folder for temporary files and on a tmpfs.
    pub fn new(name: &str) -> Self {
        let number = PLACES.fetch_add(1, Ordering::Relaxed);
        let memory = PathBuf::from("/dev/shm");
        let above = if number % 2 == 1 && memory.is_dir() { memory } else { std::env::temp_dir() };
        let folder = above.join(format!("lab-load-{}-{number}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Place(folder)
    }

    pub fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    pub fn acks(&self) -> PathBuf {
        self.0.join("acks")
    }

    /// The statement of the highest number, as it is found among what was written.
    pub fn last_statement(&self) -> Option<Statement> {
        let bytes = fs::read(self.acks()).unwrap();
        let found = bytes.chunks(STATEMENT_BYTES).filter_map(Statement::decode);
        found.max_by_key(Statement::number)
    }

    /// A copy of the store, to be spoilt.
    pub fn copy(&self) -> PathBuf {
        let to = self.0.join("copy");
        let _ = fs::remove_dir_all(&to);
        copy(&self.store(), &to);
        to
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
