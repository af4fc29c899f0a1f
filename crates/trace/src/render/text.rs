//! Names as a reader wants them: texts that are cut, what a wait is called.

use crate::timeline::WaitKind;

/// The text up to `chars_max` characters; what is longer ends with an ellipsis.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text).trim_end()),
    }
}

/// What a wait is called.
pub(super) fn wait_kind(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Sleep => "sleeps (D)",
        WaitKind::Interruptible => "sleeps (S)",
        WaitKind::Runnable => "waits for a processor",
        WaitKind::Stopped => "is stopped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_longer_ends_with_an_ellipsis() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü", 2), "äö…");
    }
}
