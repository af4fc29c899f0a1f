//! The file of tokens: read again when it may have changed, so that a token is given or taken without a
//! restart.
//!
//! It goes through the door for state files: nobody but its owner and root can have put anything there.

use super::Tokens;
use baro_sys::state::StateFolder;
use baro_sys::{clock, identity};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Far more than so many tokens take.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The service's user reads what root has written; there is no secret in it.
const FILE_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;
/// How old what is known may be.
const FRESH_NS: u64 = 1_000_000_000;

/// A file of tokens.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    read_ns: Option<u64>,
    tokens: Arc<Tokens>,
    /// Why it could not be read, the last time.
    fault: Option<String>,
}

impl TokenFile {
    /// The file at `path`, which need not be there yet.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        TokenFile { path: path.to_owned(), known: Mutex::default() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn parts(&self) -> baro_sys::Result<(&Path, &str)> {
        let name = self.path.file_name().and_then(|name| name.to_str());
        let folder = self
            .path
            .parent()
            .map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        folder.zip(name).ok_or_else(|| {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "expected the path of a file");
            baro_sys::Error::new("open tokens", &self.path, error)
        })
    }

    /// The tokens in it; none if it is not there.
    ///
    /// # Errors
    /// It cannot be read, others may write it, or a line of it is no token.
    pub fn read(&self) -> baro_sys::Result<Tokens> {
        let (folder, name) = self.parts()?;
        let folder = match StateFolder::open(folder) {
            Ok(folder) => folder,
            Err(error) if error.is_missing() => return Ok(Tokens::default()),
            Err(error) => return Err(error),
        };
        let text = folder.read_text(name, FILE_BYTES_MAX)?.unwrap_or_default();
        Tokens::parse(&text).map_err(|fault| self.wrong(&fault))
    }

    fn wrong(&self, fault: &impl std::fmt::Display) -> baro_sys::Error {
        let error = io::Error::new(io::ErrorKind::InvalidData, fault.to_string());
        baro_sys::Error::new("read tokens", &self.path, error)
    }

    /// The tokens as they were a second ago at the earliest. If the file cannot be read those that were
    /// known hold on, and the reason is told once by [`TokenFile::take_fault`].
    #[must_use]
    pub fn fresh(&self) -> Arc<Tokens> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ns = clock::monotonic_ns();
        if known.read_ns.is_none_or(|read_ns| now_ns.saturating_sub(read_ns) >= FRESH_NS) {
            known.read_ns = Some(now_ns);
            match self.read() {
                Ok(tokens) => known.tokens = Arc::new(tokens),
                Err(error) => known.fault = Some(error.to_string()),
            }
        }
        Arc::clone(&known.tokens)
    }

    /// Why the file could not be read, if that has not been told.
    #[must_use]
    pub fn take_fault(&self) -> Option<String> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).fault.take()
    }

    /// Changes what is in it, durably; nobody else does meanwhile. Blocks for a sync.
    ///
    /// # Errors
    /// As [`TokenFile::read`], or it cannot be written.
    pub fn change<T>(&self, change: impl FnOnce(&mut Tokens) -> T) -> baro_sys::Result<T> {
        let (folder, name) = self.parts()?;
        let folder = StateFolder::make(folder, FOLDER_MODE)?;
        let lock_name = format!(".{name}.lock");
        let _lock = folder.lock(&lock_name)?.map_err(|_| {
            let error =
                io::Error::new(io::ErrorKind::WouldBlock, "another baro token changes it now");
            baro_sys::Error::new("change tokens", &self.path, error)
        })?;
        let text = folder.read_text(name, FILE_BYTES_MAX)?.unwrap_or_default();
        let mut tokens = Tokens::parse(&text).map_err(|fault| self.wrong(&fault))?;
        let before = tokens.clone();
        let result = change(&mut tokens);
        if tokens != before {
            folder.replace_durable(name, tokens.text().as_bytes(), FILE_MODE)?;
        }
        Ok(result)
    }

    /// Random bytes for a new token.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn random() -> baro_sys::Result<[u8; 32]> {
        let mut bytes = [0; 32];
        identity::random(&mut bytes)?;
        Ok(bytes)
    }
}
