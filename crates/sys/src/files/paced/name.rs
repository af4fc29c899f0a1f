//! Giving a file a name that nobody has: which ways there are, and what is believed of their answers.
//!
//! A second name (a hard link) is refused where somebody has it, and so is a rename that replaces nothing.
//! Some file systems know only one of them, or none. A server may make the name and lose its answer.
//!
//! Invariant: of two who try a name one gets it, and it is told that it has. Held by
//! `a_name_is_taken_by_one_on_any_file_system`.

use crate::Error;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Ways to give a file its name.
pub(super) trait Ways {
    /// A second name, which is refused where somebody has it.
    fn link(&self) -> io::Result<()>;
    /// Another name, which is refused where somebody has it.
    fn rename_to_new(&self) -> io::Result<()>;
    /// Another name; what had it is gone.
    fn rename(&self) -> io::Result<()>;
    /// Whether the file itself has the name; `None` if nobody has.
    fn has(&self) -> Option<bool>;
}

/// Gives a file a name that nobody has. Where the file system knows no way that refuses a taken one,
/// `surely` decides: it is refused, or renamed after a look.
pub(super) fn take(ways: &impl Ways, surely: bool) -> io::Result<()> {
    let taken = || io::Error::from(ErrorKind::AlreadyExists);
    let Err(error) = ways.link() else { return Ok(()) };
    // A server whose answer was lost is asked again, and then says that the name is taken: by us.
    match ways.has() {
        Some(true) => return Ok(()),
        Some(false) => return Err(taken()),
        None if error.kind() == ErrorKind::AlreadyExists => return Err(error),
        None => {}
    }
    let Err(error) = ways.rename_to_new() else { return Ok(()) };
    match ways.has() {
        Some(true) => return Ok(()),
        Some(false) => return Err(taken()),
        None => {}
    }
    match error.raw_os_error() {
        Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP) if surely => {
            let why = "expected a file system that refuses a second file of one name, found one with \
                       neither hard links nor RENAME_NOREPLACE: two writers could take the same name; \
                       take a folder of another file system";
            Err(io::Error::new(ErrorKind::Unsupported, why))
        }
        Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP) => ways.rename(),
        _ => Err(error),
    }
}

/// A file that has one name and is to get another.
struct Moving<'a> {
    file: &'a File,
    from: &'a Path,
    to: &'a Path,
}

impl Ways for Moving<'_> {
    fn link(&self) -> io::Result<()> {
        std::fs::hard_link(self.from, self.to)
    }

    fn rename_to_new(&self) -> io::Result<()> {
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes());
        let (from, to) = (text(self.from)?, text(self.to)?);
        let (here, flags) = (libc::AT_FDCWD, libc::RENAME_NOREPLACE);
        // By its number, since C libraries have it later than kernels.
        // SAFETY: names that end with 0.
        super::result(unsafe {
            libc::syscall(libc::SYS_renameat2, here, from.as_ptr(), here, to.as_ptr(), flags)
        })
    }

    fn rename(&self) -> io::Result<()> {
        std::fs::rename(self.from, self.to)
    }

    fn has(&self) -> Option<bool> {
        let (found, own) = (self.to.symlink_metadata().ok()?, self.file.metadata().ok()?);
        Some((found.dev(), found.ino()) == (own.dev(), own.ino()))
    }
}

/// Gives the open file `file`, which has the name `from`, the name `to` instead. What has that name
/// stays; where the file system cannot promise that, it was looked for just before. A process that is
/// killed in between may leave both names.
///
/// # Errors
/// The name is taken, or the operating system's reason.
pub fn rename_to_new(file: &File, from: &Path, to: &Path) -> crate::Result<()> {
    take(&Moving { file, from, to }, false)
        .map_err(|error| Error::new(format!("rename to {}", to.display()), from, error))?;
    // Gone already, unless the name is a second one.
    let _ = std::fs::remove_file(from);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// A file system as it may be: what it answers, and who has the name then.
    struct Answers {
        link: Answer,
        rename_to_new: Answer,
        done: RefCell<Vec<&'static str>>,
    }

    type Answer = (Option<i32>, Option<bool>);
    /// What the file system answers, whether it is to be sure, what comes of it, and what was tried last.
    type Case = (Answer, Answer, bool, Outcome, &'static str);
    type Outcome = Result<(), ErrorKind>;

    impl Answers {
        fn answer(&self, way: &'static str, answer: Answer) -> io::Result<()> {
            self.done.borrow_mut().push(way);
            answer.0.map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(errno)))
        }
    }

    impl Ways for Answers {
        fn link(&self) -> io::Result<()> {
            self.answer("link", self.link)
        }

        fn rename_to_new(&self) -> io::Result<()> {
            self.answer("rename to new", self.rename_to_new)
        }

        fn rename(&self) -> io::Result<()> {
            self.answer("rename", (None, None))
        }

        fn has(&self) -> Option<bool> {
            match self.done.borrow().last() {
                Some(&"link") => self.link.1,
                _ => self.rename_to_new.1,
            }
        }
    }

    #[test]
    fn a_name_is_taken_by_one_on_any_file_system() {
        let exists = Err(ErrorKind::AlreadyExists);
        let unsupported = Err(ErrorKind::Unsupported);
        let cases: [Case; 9] = [
            ((None, None), (None, None), true, Ok(()), "link"),
            ((Some(libc::EEXIST), Some(false)), (None, None), true, exists, "link"),
            // Made on the server, and its answer was lost.
            ((Some(libc::EEXIST), Some(true)), (None, None), true, Ok(()), "link"),
            ((Some(libc::EIO), Some(true)), (None, None), true, Ok(()), "link"),
            // No hard links: one that refuses a taken name does it, or nothing does.
            ((Some(libc::EPERM), None), (None, None), true, Ok(()), "rename to new"),
            (
                (Some(libc::EPERM), None),
                (Some(libc::EEXIST), Some(false)),
                true,
                exists,
                "rename to new",
            ),
            (
                (Some(libc::EPERM), None),
                (Some(libc::ENOENT), Some(true)),
                true,
                Ok(()),
                "rename to new",
            ),
            (
                (Some(libc::EPERM), None),
                (Some(libc::EINVAL), None),
                true,
                unsupported,
                "rename to new",
            ),
            ((Some(libc::EPERM), None), (Some(libc::EINVAL), None), false, Ok(()), "rename"),
        ];
        for (link, rename_to_new, surely, expected, last) in cases {
            let answers = Answers { link, rename_to_new, done: RefCell::default() };
            let found = take(&answers, surely).map_err(|error| error.kind());
            assert_eq!(found, expected, "{link:?} {rename_to_new:?} {surely}");
            assert_eq!(answers.done.borrow().last(), Some(&last));
        }
    }

    #[test]
    fn a_file_gets_only_a_name_that_nobody_has() {
        let folder = std::env::temp_dir().join(format!("baro-name-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("it can be made");
        let (from, to) = (folder.join("from"), folder.join("to"));
        std::fs::write(&from, "ours").expect("it can be written");
        std::fs::write(&to, "theirs").expect("it can be written");
        let file = File::open(&from).expect("it is there");
        let read = |path: &Path| std::fs::read_to_string(path).expect("it is there");
        let taken = rename_to_new(&file, &from, &to).map_err(|error| error.kind());
        assert_eq!(taken, Err(ErrorKind::AlreadyExists));
        // By the second way, too.
        let moving = Moving { file: &file, from: &from, to: &to };
        assert!(moving.rename_to_new().is_err());
        assert_eq!((read(&from), read(&to)), ("ours".to_owned(), "theirs".to_owned()));
        std::fs::remove_file(&to).expect("it is there");
        rename_to_new(&file, &from, &to).expect("nobody has it");
        assert!(read(&to) == "ours" && !from.exists());
        moving.has().filter(|own| *own).expect("it has it");
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
