//! SQLite, if this machine has it: its library is loaded when asked for, so that nothing links it.
//!
//! For the bench, which compares it with write(): a database of one table of blocks, in WAL mode
//! with `synchronous=NORMAL`, as recorders use it. What it offers is a writer and, for checks, the
//! blocks read back.
//!
//! Invariant: a handle is used by one thread at a time and closed once; statements end before it.
//! Held by `what_is_inserted_is_read_back`.

mod library;

use library::Library;
use std::ffi::{CStr, CString, c_int, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

const OK: c_int = 0;
const ROW: c_int = 100;
const DONE: c_int = 101;
const OPEN_READ_WRITE_CREATE: c_int = 0x2 | 0x4;
/// The caller's bytes stay where they are until the statement is over.
const STATIC: *mut c_void = null_mut();

/// Whether the library can be loaded.
///
/// # Errors
/// In one sentence, why not and what to install.
pub fn available() -> Result<(), String> {
    Library::load().map(drop)
}

/// A database that blocks are inserted into.
#[derive(Debug)]
pub struct Database {
    library: Library,
    handle: *mut c_void,
    insert: *mut c_void,
}

// SAFETY: SQLite lets a handle be used by any thread, one at a time; all use is by `&mut self`.
unsafe impl Send for Database {}

impl Database {
    /// Makes the database at `path`, which must not exist. Blocks for its first writes and syncs.
    ///
    /// # Errors
    /// The library is not there (`Unsupported`), or what SQLite says.
    pub fn create(path: &Path) -> io::Result<Self> {
        let library =
            Library::load().map_err(|reason| io::Error::new(io::ErrorKind::Unsupported, reason))?;
        let name = CString::new(path.as_os_str().as_bytes())?;
        let mut handle = null_mut();
        let (flags, no_vfs) = (OPEN_READ_WRITE_CREATE, std::ptr::null());
        // SAFETY: `name` is a C string; the handle is written even where the call fails, and closed
        // on drop.
        let code = unsafe { (library.open)(name.as_ptr(), &raw mut handle, flags, no_vfs) };
        let mut database = Self { library, handle, insert: null_mut() };
        database.check(code, "open")?;
        for statement in [
            c"PRAGMA journal_mode=WAL",
            c"PRAGMA synchronous=NORMAL",
            c"CREATE TABLE blocks (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
        ] {
            database.execute(statement)?;
        }
        database.insert = database.prepare(c"INSERT INTO blocks (bytes) VALUES (?1)")?;
        Ok(database)
    }

    /// Inserts a block, in the transaction under way or a new one. May write to the WAL.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn insert(&mut self, block: &[u8]) -> io::Result<()> {
        let length = c_int::try_from(block.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        if !self.is_in_transaction() {
            self.execute(c"BEGIN")?;
        }
        // SAFETY: the statement is ours and at rest; `block` outlives the step below.
        let bound =
            unsafe { (self.library.bind)(self.insert, 1, block.as_ptr().cast(), length, STATIC) };
        self.check(bound, "bind")?;
        // SAFETY: the statement is ours; after the reset nothing refers to `block` but the binding,
        // which the next call replaces before it steps.
        let code = unsafe {
            let code = (self.library.step)(self.insert);
            (self.library.reset)(self.insert);
            code
        };
        if code == DONE { Ok(()) } else { self.check(code, "insert") }
    }

    /// Commits: blocks are durable at the next checkpoint, which SQLite makes here when the WAL has
    /// 1,000 pages, with its syncs.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn commit(&mut self) -> io::Result<()> {
        if self.is_in_transaction() { self.execute(c"COMMIT") } else { Ok(()) }
    }

    /// Whether blocks were inserted and not committed. After an error SQLite may have undone them:
    /// then it is not, and they are lost.
    #[must_use]
    pub fn is_in_transaction(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { (self.library.autocommit)(self.handle) == 0 }
    }

    /// Commits and moves all of the WAL into the database, with its syncs: everything is durable.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn checkpoint(&mut self) -> io::Result<()> {
        self.commit()?;
        self.execute(c"PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// All blocks in the order they were inserted.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn blocks(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let select = self.prepare(c"SELECT bytes FROM blocks ORDER BY number")?;
        let mut blocks = Vec::new();
        // SAFETY: the statement is ours; the bytes of a column are valid until the next step.
        let code = unsafe {
            loop {
                let code = (self.library.step)(select);
                if code != ROW {
                    break code;
                }
                let start = (self.library.column_blob)(select, 0).cast::<u8>();
                let bytes = usize::try_from((self.library.column_bytes)(select, 0)).unwrap_or(0);
                let none = start.is_null() || bytes == 0;
                let block = if none { &[] } else { std::slice::from_raw_parts(start, bytes) };
                blocks.push(block.to_vec());
            }
        };
        // SAFETY: ends the statement, which nobody uses any more.
        unsafe { (self.library.finalize)(select) };
        if code == DONE { Ok(blocks) } else { self.check(code, "select").map(|()| blocks) }
    }

    fn execute(&mut self, statement: &CStr) -> io::Result<()> {
        let (no_callback, no_message) = (null_mut(), null_mut());
        // SAFETY: the handle is open, the statement a C string; nothing is called back.
        let code = unsafe {
            (self.library.execute)(
                self.handle,
                statement.as_ptr(),
                no_callback,
                null_mut(),
                no_message,
            )
        };
        self.check(code, &statement.to_string_lossy())
    }

    fn prepare(&mut self, statement: &CStr) -> io::Result<*mut c_void> {
        let mut made = null_mut();
        // SAFETY: the handle is open, the statement a C string to its end.
        let code = unsafe {
            let text = statement.as_ptr();
            (self.library.prepare)(self.handle, text, -1, &raw mut made, null_mut())
        };
        self.check(code, &statement.to_string_lossy()).map(|()| made)
    }

    fn check(&self, code: c_int, what: &str) -> io::Result<()> {
        // SQLITE_FULL, SQLITE_READONLY, SQLITE_NOMEM; the low byte is the kind of error.
        let kind = match code & 0xff {
            OK => return Ok(()),
            13 => io::ErrorKind::StorageFull,
            8 => io::ErrorKind::ReadOnlyFilesystem,
            7 => io::ErrorKind::OutOfMemory,
            _ => io::ErrorKind::Other,
        };
        // SAFETY: takes a null handle too; the text is valid until the next call.
        let said = unsafe {
            let text = (self.library.message)(self.handle);
            if text.is_null() { "".into() } else { CStr::from_ptr(text).to_string_lossy() }
        };
        Err(io::Error::new(kind, format!("SQLite: {what}: {said} (code {code})")))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: both take null; the statement ends before its handle.
        unsafe {
            (self.library.finalize)(self.insert);
            (self.library.close)(self.handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Database, available};
    use baro_sys::files;

    #[test]
    fn what_is_inserted_is_read_back() {
        if let Err(why) = available() {
            println!("skipped: {why}");
            return;
        }
        let dir = std::env::temp_dir().join(format!("baro-sqlite-{}", std::process::id()));
        files::make_folder(&dir).unwrap();
        let path = dir.join("blocks");
        let mut database = Database::create(&path).unwrap();
        let blocks: Vec<Vec<u8>> = (0..20).map(|n| vec![n; 1000 * usize::from(n)]).collect();
        for (number, block) in blocks.iter().enumerate() {
            database.insert(block).unwrap();
            assert!(database.is_in_transaction());
            if number % 7 == 6 {
                database.commit().unwrap();
            }
        }
        database.checkpoint().unwrap();
        assert!(!database.is_in_transaction());
        assert_eq!(database.blocks().unwrap(), blocks);
        drop(database);
        let refused = Database::create(&path).unwrap_err().to_string();
        assert!(refused.contains("CREATE TABLE") && refused.contains("exists"), "{refused}");
        // Whoever closes it last removes the WAL.
        files::remove(&path).unwrap();
        files::remove_empty_folder(&dir).unwrap();
        let refused = Database::create(&path).unwrap_err().to_string();
        assert!(refused.contains("SQLite: open: "), "{refused}");
    }
}
