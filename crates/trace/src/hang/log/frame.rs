//! A line of a stack as the kernel prints it: x86-64 and arm64 (`ext4_sync_file+0xa0/0x2d0 [ext4]`), arm
//! (`__schedule from schedule+0x58/0xe4`), and /proc/PID/stack.
//!
//! Invariant: only a name with its offset and length is a function. Held by
//! `lines_of_stacks_are_functions`.

use crate::hang::{Frame, kept};

/// A line of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The function.
    pub(super) frame: Frame,
    /// The function that called it, where the line has both (arm).
    pub(super) caller: Option<String>,
}

/// The function of a line; None: it is no line of a stack.
pub(super) fn line(text: &str) -> Option<Line> {
    let text = text.trim();
    let (text, mut is_sure) = match text.strip_prefix("? ") {
        Some(rest) => (rest.trim_start(), false),
        None => (text, true),
    };
    // `[<c0101234>] (__schedule) from [<c010abcd>] (schedule+0x58/0xe4)`, and without the addresses.
    if let Some((callee, caller)) = text.split_once(" from ") {
        let (callee, _) = bare(callee);
        let (caller, offset) = bare(caller);
        let is_name = callee.bytes().all(is_name_byte) && !callee.is_empty();
        return (is_name && offset).then(|| Line {
            frame: Frame { function: Some(kept(callee)), is_sure },
            caller: Some(kept(caller)),
        });
    }
    let mut text = text;
    while let Some(rest) = text.strip_prefix("[<")
        && let Some((_, rest)) = rest.split_once(">]")
    {
        text = rest.trim_start();
        if let Some(rest) = text.strip_prefix("? ") {
            (text, is_sure) = (rest.trim_start(), false);
        }
    }
    let word = text.split_whitespace().next()?;
    if let Some(hex) = word.strip_prefix("0x") {
        let is_address = hex.len() >= 8 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let alone = text.len() == word.len();
        return (is_address && alone)
            .then_some(Line { frame: Frame { function: None, is_sure }, caller: None });
    }
    let (name, offset) = bare(word);
    // As scripts/decode_stacktrace.sh writes it: `ext4_sync_file (fs/ext4/fsync.c:163)`.
    let place = text.get(word.len()..).unwrap_or_default().trim_start();
    let decoded = place.starts_with('(')
        && place.contains(".c:") | place.contains(".S:") | place.contains(".h:");
    let is_name = !name.is_empty() && name.bytes().all(is_name_byte);
    (is_name && (offset || decoded))
        .then(|| Line { frame: Frame { function: Some(kept(name)), is_sure }, caller: None })
}

/// The name in `name+0x12/0x34`, brackets and addresses around it left out, and whether an offset with a
/// length stands behind it.
fn bare(text: &str) -> (&str, bool) {
    let text = text.rsplit("] ").next().unwrap_or(text).trim();
    let text = text.strip_prefix('(').map_or(text, |text| text.trim_end_matches(')'));
    let Some((name, rest)) = text.split_once('+') else { return (text, false) };
    let hex = |text: &str| {
        text.strip_prefix("0x")
            .is_some_and(|hex| !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let offset = rest.split_once('/').is_some_and(|(offset, length)| hex(offset) && hex(length));
    (name, offset)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_stacks_are_functions() {
        let of = |text: &str| {
            let line = line(text)?;
            let sure = if line.frame.is_sure { "" } else { "?" };
            let function = line.frame.function.unwrap_or_else(|| "-".to_owned());
            Some(format!(
                "{sure}{function}{}",
                line.caller.map_or(String::new(), |one| format!("<{one}"))
            ))
        };
        let cases = [
            (" schedule+0x5b/0x1e0", "schedule"),
            (" ? ext4_sync_file+0xa0/0x2d0 [ext4]", "?ext4_sync_file"),
            ("? __filemap_get_folio.part.0+0x1/0x2 [ext4 0123abcd]", "?__filemap_get_folio.part.0"),
            (" [<ffffffff816a94e9>] schedule+0x29/0x70", "schedule"),
            (" [<ffffffff816a94e9>] ? schedule+0x29/0x70", "?schedule"),
            ("[<0>] do_fsync+0x3b/0xa0", "do_fsync"),
            (" jbd2_log_wait_commit (fs/jbd2/journal.c:692)", "jbd2_log_wait_commit"),
            (" 0xffffffffc0123456", "-"),
            ("__schedule from schedule+0x58/0xe4", "__schedule<schedule"),
            (
                "[<c0845c80>] (__schedule) from [<c0846228>] (schedule+0x58/0xe4)",
                "__schedule<schedule",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(of(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            "Call Trace:",
            "<TASK>",
            "RIP: 0033:0x7f5ac9b7c710",
            "schedule+0x/0x",
            "a b+0x1/0x2",
            "r7:c0a01234 r6:00000000",
            "mail from somebody",
            "x=1+0x2/0x3",
            "0x12",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
