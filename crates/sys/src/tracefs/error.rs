//! Why the kernel's events cannot be had, with the command that helps.
//!
//! Invariant: each message names the place and the next step. Held by `says_what_to_do`.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a trace instance cannot be made or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum TraceError {
    /// No tracefs at either usual place.
    NotMounted,
    /// The name cannot be that of an instance.
    Name(String),
    /// The running kernel has no such event.
    NoEvent(String),
    /// The kernel refused a filter.
    Filter {
        /// The event.
        event: String,
        /// The filter.
        filter: String,
    },
    /// What is to be counted is not known for this kind of file system.
    NotCounted(&'static str),
    /// A statistics file in an unknown form.
    Statistics(PathBuf),
    /// A file of tracefs could not be used.
    File {
        /// What was being done.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl TraceError {
    pub(super) fn at(what: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { what, path: path.clone(), source }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMounted => write!(
                f,
                "tracefs is at neither /sys/kernel/tracing nor /sys/kernel/debug/tracing: \
                 run it as root, once that is mounted: mount -t tracefs tracefs /sys/kernel/tracing"
            ),
            Self::Name(name) => {
                write!(f, "trace instance {name:?}: use letters, digits, - and _ only")
            }
            Self::NotCounted(kind) => write!(
                f,
                "commits are counted on ext4 and f2fs only, and this file system is {kind}: \
                 measure on one of them"
            ),
            Self::NoEvent(event) => write!(
                f,
                "this kernel has no event {event:?}: see /sys/kernel/tracing/available_events \
                 (there with a colon for the slash)"
            ),
            Self::Filter { event, filter } => write!(
                f,
                "event {event} refuses the filter {filter:?}: its fields are in \
                 /sys/kernel/tracing/events/{event}/format"
            ),
            Self::Statistics(path) => {
                write!(f, "{} lacks overrun or dropped events: unknown kernel", path.display())
            }
            Self::File { what, path, source } => {
                write!(f, "cannot {what} {}: {source}", path.display())?;
                if source.kind() == io::ErrorKind::PermissionDenied {
                    write!(f, "; run as root")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TraceError;

    #[test]
    fn says_what_to_do() {
        assert!(TraceError::NotMounted.to_string().contains("mount -t tracefs"));
        let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let text = TraceError::at("open", std::path::Path::new("/x"))(denied).to_string();
        assert!(text.starts_with("cannot open /x: ") && text.ends_with("run as root"), "{text}");
    }
}
