//! Why there are no probes here: the kernel, the rights, or what was asked for.
//!
//! Invariant: each message says what to do instead. Held by `each_error_says_what_to_do`.

use aya::EbpfError;
use aya::programs::ProgramError;
use std::error::Error as _;
use std::fmt;
use std::io;

/// Of a verifier's log, which may have megabytes.
const LOG_CHARS: usize = 400;
/// The last line of it.
const JUDGED: &str = "processed ";
const EPERM: i32 = 1;
const EACCES: i32 = 13;

/// Why probes cannot begin or go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProbeError {
    /// The kernel is too old.
    Kernel {
        /// Its release.
        found: String,
    },
    /// The kernel does not tell its types.
    Types {
        /// What is wrong with them.
        found: String,
    },
    /// This process may not.
    Rights {
        /// What was refused.
        what: String,
    },
    /// The kernel refused a program or a map.
    Refused {
        /// Which.
        what: String,
        /// What it said, the end of it.
        found: String,
    },
    /// A page could not be made or handed on.
    Trace(baro_trace::Error),
}

impl ProbeError {
    pub(crate) fn no_types(found: &str) -> Self {
        Self::Types { found: found.to_owned() }
    }

    /// What the kernel answered when `what` was to be loaded, attached or read.
    pub(crate) fn of(what: &str, error: &(dyn std::error::Error + 'static)) -> Self {
        let what = what.to_owned();
        let mut text = error.to_string();
        let mut source = Some(error);
        while let Some(error) = source {
            // EACCES is also the verifier's word for a bad access; then there is its log.
            let judged = text.contains(JUDGED);
            if errno(error) == Some(EPERM) || errno(error) == Some(EACCES) && !judged {
                return Self::Rights { what };
            }
            source = error.source();
            if let Some(source) = source {
                text.push_str(": ");
                text.push_str(&source.to_string());
            }
        }
        let skip = text.chars().count().saturating_sub(LOG_CHARS);
        Self::Refused { what, found: text.chars().skip(skip).collect() }
    }
}

fn errno(error: &(dyn std::error::Error + 'static)) -> Option<i32> {
    error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error)
}

/// Whether the kernel has no tracepoint of that name.
pub(crate) fn is_missing(error: &ProgramError) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        if errno(error) == Some(2) {
            return true;
        }
        source = error.source();
    }
    matches!(error, ProgramError::SyscallError(error) if error.io_error.raw_os_error() == Some(2))
}

impl From<baro_trace::Error> for ProbeError {
    fn from(error: baro_trace::Error) -> Self {
        Self::Trace(error)
    }
}

impl From<EbpfError> for ProbeError {
    fn from(error: EbpfError) -> Self {
        Self::of("the programs", &error)
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel { found } => write!(
                f,
                "BTF tracepoints with what the probes read of them need Linux 5.18, found {found}: \
                 use the collector tracefs"
            ),
            Self::Types { found } => write!(
                f,
                "BTF tracepoints need the types of the kernel in /sys/kernel/btf \
                 (CONFIG_DEBUG_INFO_BTF), found {found}: use the collector tracefs"
            ),
            Self::Rights { what } => write!(
                f,
                "may not load {what}: BTF tracepoints need root, or CAP_BPF and CAP_PERFMON \
                 (setcap cap_bpf,cap_perfmon+ep), and a kernel that is not locked down: \
                 see `cat /sys/kernel/security/lockdown`, or use the collector tracefs"
            ),
            Self::Refused { what, found } => {
                write!(f, "the kernel refused {what}: use the collector tracefs. It said: {found}")
            }
            Self::Trace(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ProbeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Trace(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the loader puts a verifier's answer.
    #[derive(Debug)]
    struct Judged(io::Error);

    impl fmt::Display for Judged {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("R1 invalid mem access\nprocessed 9 insns")
        }
    }

    impl std::error::Error for Judged {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn each_error_says_what_to_do() {
        let denied = io::Error::from_raw_os_error(EPERM);
        let judged = Judged(io::Error::from_raw_os_error(EACCES));
        let errors = [
            ProbeError::Kernel { found: "5.10".to_owned() },
            ProbeError::no_types("no file"),
            ProbeError::of("baro_switch", &denied),
            ProbeError::of("baro_switch", &io::Error::other("x".repeat(10_000))),
            ProbeError::of("baro_switch", &judged),
        ];
        for error in &errors {
            let message = error.to_string();
            assert!(message.contains("collector tracefs"), "{message}");
            assert!(message.len() < 700, "{message}");
        }
        assert!(errors[2].to_string().contains("CAP_BPF"));
        assert!(matches!(errors[3], ProbeError::Refused { .. }));
        assert!(matches!(errors[4], ProbeError::Refused { .. }));
        assert!(errors[4].to_string().contains("R1 invalid mem access"));
    }
}
