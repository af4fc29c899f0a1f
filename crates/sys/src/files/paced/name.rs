//! Giving a file a name that nobody has: which ways there are, and what is believed of their answers.
//!
//! A second name (a hard link) is refused where somebody has it, and so is a rename that replaces nothing.
//! Some file systems know only one of them, or none. A server may make the name and lose its answer.
//!
//! Invariant: of two who try a name one gets it, and it is told that it has. Held by
//! `a_name_is_taken_by_one_on_any_file_system`.

use std::io::{self, ErrorKind};

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
}
