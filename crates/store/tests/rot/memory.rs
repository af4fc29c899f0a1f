//! The files of a store in memory, of which any bit can be flipped and flipped back; read only.

use baro_sys::storage::{Access, Storage, StorageFile};
use baro_sys::{Error, Result};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, RwLock};

/// See the module. Clones are the same files.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<BTreeMap<String, MemoryFile>>);

#[derive(Clone, Debug)]
pub struct MemoryFile(Arc<RwLock<Vec<u8>>>);

impl Memory {
    /// The files of a folder as they are.
    pub fn load(path: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(path.join(&folder)).unwrap() {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                let name = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                if entry.file_type().unwrap().is_dir() {
                    folders.push(name);
                } else {
                    let bytes = std::fs::read(entry.path()).unwrap();
                    files.insert(name, MemoryFile(Arc::new(RwLock::new(bytes))));
                }
            }
        }
        Memory(Arc::new(files))
    }

    /// Names and sizes of what is not empty, but for lock files, which hold no data.
    pub fn files(&self) -> Vec<(String, u64)> {
        let data = self.0.iter().filter(|(name, _)| !name.ends_with("lock"));
        let sized = data.map(|(name, file)| (name.clone(), file.0.read().unwrap().len() as u64));
        sized.filter(|(_, bytes)| *bytes > 0).collect()
    }

    /// Bytes up to the last one that is not zero.
    pub fn used_bytes(&self, name: &str) -> u64 {
        let bytes = self.0[name].0.read().unwrap();
        bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.0[name].0.read().unwrap().clone()
    }

    /// The same files and one more.
    pub fn with(&self, name: &str, bytes: Vec<u8>) -> Self {
        let mut files = (*self.0).clone();
        files.insert(name.to_owned(), MemoryFile(Arc::new(RwLock::new(bytes))));
        Memory(Arc::new(files))
    }

    pub fn flip(&self, name: &str, at: u64, bit: u32) {
        self.0[name].0.write().unwrap()[at as usize] ^= 1 << bit;
    }
}

fn refused(name: &str, why: ErrorKind) -> Error {
    Error::new("open", name, why.into())
}

impl Storage for Memory {
    type File = MemoryFile;

    fn create(&self, name: &str) -> Result<MemoryFile> {
        Err(refused(name, ErrorKind::ReadOnlyFilesystem))
    }

    fn open(&self, name: &str, _access: Access) -> Result<MemoryFile> {
        self.0.get(name).cloned().ok_or_else(|| refused(name, ErrorKind::NotFound))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let within = format!("{folder}/");
        let names = self.0.keys().filter_map(|name| name.strip_prefix(&within));
        let names: Vec<String> =
            names.filter(|name| !name.contains('/')).map(str::to_owned).collect();
        if names.is_empty() { Err(refused(folder, ErrorKind::NotFound)) } else { Ok(names) }
    }

    fn create_folder(&self, name: &str) -> Result<()> {
        Err(refused(name, ErrorKind::ReadOnlyFilesystem))
    }

    fn rename(&self, from: &str, _to: &str) -> Result<()> {
        Err(refused(from, ErrorKind::ReadOnlyFilesystem))
    }

    fn remove(&self, name: &str) -> Result<()> {
        Err(refused(name, ErrorKind::ReadOnlyFilesystem))
    }

    fn sync_folder(&self, _folder: &str) -> Result<()> {
        Ok(())
    }
}

impl StorageFile for MemoryFile {
    fn size_bytes(&self) -> Result<u64> {
        Ok(self.0.read().unwrap().len() as u64)
    }

    fn reserve(&self, _bytes: u64) -> Result<()> {
        Err(refused("", ErrorKind::ReadOnlyFilesystem))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize> {
        let all = self.0.read().unwrap();
        let from = all.get(offset as usize..).unwrap_or(&[]);
        let length = from.len().min(bytes.len());
        bytes[..length].copy_from_slice(&from[..length]);
        Ok(length)
    }

    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(refused("", ErrorKind::ReadOnlyFilesystem))
    }

    fn sync_data(&self) -> Result<()> {
        Ok(())
    }
}
