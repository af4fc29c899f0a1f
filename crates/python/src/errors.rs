//! Errors of the crates below as exceptions of the package (`barograph/_errors.py`), with their sentences
//! as they are.

use baro_recorder::Refused as Why;
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};

pyo3::import_exception!(barograph._errors, Error);
pyo3::import_exception!(barograph._errors, NotAStore);
pyo3::import_exception!(barograph._errors, Damaged);
pyo3::import_exception!(barograph._errors, InUse);
pyo3::import_exception!(barograph._errors, NewerVersion);
pyo3::import_exception!(barograph._errors, Gone);
pyo3::import_exception!(barograph._errors, Unknown);
pyo3::import_exception!(barograph._errors, Refused);
pyo3::import_exception!(barograph._errors, RingFull);
pyo3::import_exception!(barograph._errors, TooLarge);
pyo3::import_exception!(barograph._errors, Closed);
pyo3::import_exception!(barograph._errors, Forked);
pyo3::import_exception!(barograph._errors, NotDurable);

/// What the operating system refuses: a file that is gone is told from others.
pub(crate) fn system(error: baro_sys::Error) -> PyErr {
    if error.is_missing() {
        return Gone::new_err(error.to_string());
    }
    match error.errno() {
        // Python makes PermissionError and so on of the number.
        Some(number) => PyOSError::new_err((number, error.to_string())),
        None => PyOSError::new_err(error.to_string()),
    }
}

pub(crate) fn log(error: baro_log::Error) -> PyErr {
    use baro_log::Error as E;
    let said = error.to_string();
    match error {
        E::System(error) => system(error),
        E::NotAStore { .. } | E::NotAFolder { .. } => NotAStore::new_err(said),
        E::Format { source, .. } => format(&source, said),
        E::Making { .. } | E::Locked { .. } => InUse::new_err(said),
        E::Setting { .. } => PyValueError::new_err(said),
        _ => Error::new_err(said),
    }
}

/// A version that we do not know is no damage.
fn format(source: &baro_ondisk::Error, said: String) -> PyErr {
    match source {
        baro_ondisk::Error::Mismatch { field, expected, found, .. }
            if field.contains("version") && found > expected =>
        {
            NewerVersion::new_err(said)
        }
        _ => Damaged::new_err(said),
    }
}

pub(crate) fn store(error: baro_store::Error) -> PyErr {
    use baro_store::Error as E;
    let said = error.to_string();
    match error {
        E::System(error) => system(error),
        E::Store(error) => log(error),
        E::UnknownName(_) => Unknown::new_err(said),
        E::Selector(_) => PyValueError::new_err(format!("selector: {said}")),
        E::NoSegments { .. } | E::Manifest { .. } | E::CatalogDamaged { .. } => {
            Damaged::new_err(said)
        }
        _ => Error::new_err(said),
    }
}

pub(crate) fn recorder(error: baro_recorder::Error) -> PyErr {
    use baro_recorder::Error as E;
    let said = error.to_string();
    match error {
        E::System(error) => system(error),
        E::Log(error) => log(error),
        E::Busy { .. } => InUse::new_err(said),
        E::Setting { .. } | E::Layout(_) | E::DeclaredOtherwise { .. } | E::Undeclared { .. } => {
            PyValueError::new_err(said)
        }
        E::WriterGone | E::NobodyRecords { .. } => Closed::new_err(said),
        _ => Error::new_err(said),
    }
}

pub(crate) fn front(error: barograph::Error) -> PyErr {
    use barograph::Error as E;
    let said = error.to_string();
    match error {
        E::Log(error) => log(error),
        E::Recorder(error) => recorder(error),
        E::Store(error) => store(error),
        E::System(error) => system(error),
        E::Text { .. } => PyValueError::new_err(said),
        E::NotDurable { .. } => NotDurable::new_err(said),
        _ => Error::new_err(said),
    }
}

/// A push that was refused.
pub(crate) fn refused(why: Why) -> PyErr {
    match why {
        Why::RingFull => RingFull::new_err(
            "the ring is full: the disk has been slower than the input; the record is lost and counted \
             (open the recorder with a larger ring=)",
        ),
        Why::TooLarge { limit_bytes } => TooLarge::new_err(format!(
            "value: expected at most {limit_bytes} bytes, found more; the record is lost and counted \
             (frames: open the recorder with a larger frame_max=)"
        )),
        Why::Closed => Closed::new_err("the recorder is closed"),
        Why::Forked => forked("the recorder"),
        Why::Uneven => PyValueError::new_err(why.to_string()),
    }
}

pub(crate) fn forked(what: &str) -> PyErr {
    Forked::new_err(format!(
        "{what} belongs to the parent process and cannot be used in a forked child; open it here anew, or \
         start workers with multiprocessing's \"spawn\""
    ))
}

pub(crate) fn closed(what: &str) -> PyErr {
    Closed::new_err(format!("{what} is closed"))
}

pub(crate) fn bug(what: &str) -> PyErr {
    Error::new_err(format!("{what}: a fault of Barograph, please report it"))
}

/// An argument of the wrong value.
pub(crate) fn value(argument: &str, expected: &str, found: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{argument}: expected {expected}, found {found}"))
}

/// An argument of the wrong type.
pub(crate) fn kind(argument: &str, expected: &str, found: impl std::fmt::Display) -> PyErr {
    PyTypeError::new_err(format!("{argument}: expected {expected}, found {found}"))
}

pub(crate) fn arrow(argument: &str, error: &arrow_schema::ArrowError) -> PyErr {
    PyValueError::new_err(format!("{argument}: {error}"))
}
