//! What stands before the kernel's own words in a line of its log: times, the host, a level.
//!
//! Each reader of the log writes them otherwise: `/dev/kmsg`, dmesg with its options, journalctl with
//! its own, syslog. The kernel's words are what is left.
//!
//! Invariant: what is left is an end of the line. Held by `lines_lose_what_is_before_the_kernels_words`.

use crate::hang::{When, kept};

/// The longest beginning of a line in which the name of the writer is looked for.
const PREFIX_BYTES_MAX: usize = 200;

/// Splits a line into when it was written and what the kernel wrote.
pub(super) fn split(line: &str) -> (When, &str) {
    let mut when = When::default();
    let mut rest = kmsg(line, &mut when);
    rest = syslog(rest, &mut when);
    rest = rest.trim_start();
    // `dmesg -r` and `dmesg -x`.
    if let Some(after) = rest.strip_prefix('<')
        && let Some((level, after)) = after.split_once('>')
        && !level.is_empty()
        && level.bytes().all(|byte| byte.is_ascii_digit())
    {
        rest = after.trim_start();
    }
    if let Some(after) = rest.strip_prefix("kern")
        && let Some(after) = after.trim_start().strip_prefix(':')
        && let Some((level, after)) = after.split_once(':')
        && level.trim().bytes().all(|byte| byte.is_ascii_lowercase())
    {
        rest = after.trim_start();
    }
    // `dmesg --time-format iso`: one word that begins as a date does.
    if let Some((word, after)) = rest.split_once(' ')
        && is_date(word)
    {
        when.wall = Some(kept(word));
        rest = after.trim_start();
    }
    (when_of_brackets(&mut rest, when), rest)
}

/// A record of `/dev/kmsg`: `6,1234,44312022316,-;words`.
fn kmsg<'a>(line: &'a str, when: &mut When) -> &'a str {
    let Some((head, words)) = line.split_once(';') else { return line };
    let mut fields = head.split(',');
    let mut number = || fields.next().and_then(|field| field.parse::<u64>().ok());
    match (number(), number(), number()) {
        (Some(_), Some(_), Some(us)) => {
            when.boot_us = Some(us);
            words
        }
        _ => line,
    }
}

/// What comes from a log of several programs: `Nov 26 03:58:52 host kernel: words`.
fn syslog<'a>(line: &'a str, when: &mut When) -> &'a str {
    const WRITER: &str = " kernel: ";
    let Some(at) = line.find(WRITER).filter(|at| *at <= PREFIX_BYTES_MAX) else { return line };
    let (head, rest) = line.split_at(at);
    // A task may be called so.
    if head.contains("task") && (head.contains("INFO:") || head.contains("task:")) {
        return line;
    }
    if let Some(us) =
        head.trim_start().strip_prefix('[').and_then(|head| seconds(head.split(']').next()?))
    {
        when.boot_us = Some(us);
    } else if let Some((time, _host)) = head.rsplit_once(' ') {
        when.wall = Some(kept(time.trim()));
    }
    rest.get(WRITER.len()..).unwrap_or_default()
}

/// Takes `[44312.022316]`, `[  T123]`, `[Thu Nov 26 03:58:52 2026]`, `[  +0.000010]`.
fn when_of_brackets(rest: &mut &str, mut when: When) -> When {
    while let Some(after) = rest.strip_prefix('[')
        && let Some((inside, after)) = after.split_once(']')
    {
        let inside = inside.trim();
        let is_caller = inside.starts_with(['T', 'C'])
            && inside.len() > 1
            && inside.bytes().skip(1).all(|byte| byte.is_ascii_digit());
        if let Some(us) = seconds(inside) {
            when.boot_us = Some(us);
        } else if inside.contains(':') && inside.bytes().any(|byte| byte.is_ascii_digit()) {
            when.wall = Some(kept(inside));
        } else if !is_caller && !inside.starts_with('+') {
            break;
        }
        *rest = after.trim_start();
    }
    when
}

/// `44312.022316` in microseconds.
fn seconds(text: &str) -> Option<u64> {
    let (whole, part) = text.trim().split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let part: u64 = format!("{part:0<6}").get(..6)?.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(part)
}

fn is_date(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() > 18
        && bytes.get(4) == Some(&b'-')
        && bytes.get(10) == Some(&b'T')
        && bytes.iter().take(4).all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_what_is_before_the_kernels_words() {
        let words = "INFO: task a b:7 blocked for more than 122 seconds.";
        let us = Some(44_312_022_316);
        let cases: [(&str, Option<u64>, Option<&str>); 16] = [
            ("", None, None),
            ("[44312.022316] ", us, None),
            ("[44312.022316][  T123] ", us, None),
            ("<3>[44312.022316] ", us, None),
            ("kern  :err   : [44312.022316] ", us, None),
            ("3,1234,44312022316,-;", us, None),
            ("3,1234,44312022316,-,caller=T25;", us, None),
            ("[Thu Nov 26 03:58:52 2026] ", None, Some("Thu Nov 26 03:58:52 2026")),
            ("[  +0.000012] ", None, None),
            ("2026-11-26T03:58:52,022316+00:00 ", None, Some("2026-11-26T03:58:52,022316+00:00")),
            ("Nov 26 03:58:52 host kernel: ", None, Some("Nov 26 03:58:52")),
            ("Nov 26 03:58:52 host kernel: [44312.022316] ", us, Some("Nov 26 03:58:52")),
            ("2026-11-26T03:58:52.1+0000 host kernel: ", None, Some("2026-11-26T03:58:52.1+0000")),
            (
                "Thu 2026-11-26 03:58:52 UTC host kernel: ",
                None,
                Some("Thu 2026-11-26 03:58:52 UTC"),
            ),
            ("[44312.022316] host kernel: ", us, None),
            ("1795665532.022316 host kernel: ", None, Some("1795665532.022316")),
        ];
        for (prefix, boot_us, wall) in cases {
            let line = format!("{prefix}{words}");
            let (when, rest) = split(&line);
            assert_eq!(
                (when.boot_us, when.wall.as_deref(), rest),
                (boot_us, wall, words),
                "{prefix}"
            );
        }
        // A task has called itself so.
        let line = "[1.5] INFO: task x kernel: 9:7 blocked for more than 122 seconds.";
        assert!(split(line).1.starts_with("INFO: task x kernel: 9:7 "));
        let frame = " [<0>] ext4_sync_file+0xa0/0x2d0";
        assert_eq!(split(frame).1, frame.trim_start());
    }
}
