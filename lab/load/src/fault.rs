//! A load for a disk that fails: it pushes steadily while the disk beneath returns errors or stops
//! to answer, and prints what it sees. Judged outside, from what it printed and by `verify`.

use crate::write::{Request, Running, start};
use baro_sys::clock;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const EVERY_NS: u64 = 200_000_000;

/// Records until the time is over or stdin gets a line. Whether everything was made durable and
/// nothing went wrong that a disk is not to blame for.
///
/// # Errors
/// The store could not be made or opened, or a thread panicked.
pub fn run(request: &Request) -> Result<bool, String> {
    let started_ns = clock::monotonic_ns();
    let until_ns = started_ns.saturating_add(request.for_ns);
    let running = start(request)?;
    println!("READY");
    let asked = ends_at_a_line();
    while clock::monotonic_ns() < until_ns && !asked.load(Ordering::Acquire) {
        line(&running, started_ns);
        clock::sleep_ns(EVERY_NS);
    }
    line(&running, started_ns);
    let recorder_ended = running.end()?;
    let (closed, pushed) = (&recorder_ended.closed, &recorder_ended.pushed);
    let status = &closed.status;
    let statement = &recorder_ended.statement;
    let durable: Vec<u64> = statement.slots.iter().map(|slot| slot.durable).collect();
    let offered: Vec<u64> = statement.slots.iter().map(|slot| slot.known).collect();
    println!(
        "{{\"final\":true,\"ms\":{},\"taken\":{},\"refused_full\":{},\"refused_large\":{},\
         \"offered\":{offered:?},\"durable\":{durable:?},\"left\":{},\"lost\":{},\"failures\":{},\
         \"segments_suspect\":{},\"rings_broken\":{},\"longest_write_us\":{},\
         \"longest_sync_us\":{},\"trouble\":{},\"complaints\":{}}}",
        (clock::monotonic_ns() - started_ns) / 1_000_000,
        pushed.taken,
        pushed.full,
        pushed.large,
        closed.left,
        status.lost,
        status.failures,
        status.segments_suspect,
        status.rings_broken,
        status.longest_write_ns / 1000,
        status.longest_sync_ns / 1000,
        quoted(&trouble(&status.trouble)),
        quoted(&recorder_ended.complaints.join("; ")),
    );
    let _ = std::io::stdout().flush();
    Ok(closed.left == 0 && recorder_ended.complaints.is_empty())
}

/// Becomes true when stdin gets a line; not when it is closed, so that it may be /dev/null.
fn ends_at_a_line() -> Arc<AtomicBool> {
    let asked = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&asked);
    // Ends with the process: nothing interrupts a read of stdin.
    std::thread::spawn(move || {
        let mut text = String::new();
        if std::io::stdin().lock().read_line(&mut text).is_ok_and(|bytes| bytes > 0) {
            set.store(true, Ordering::Release);
        }
    });
    asked
}

fn trouble(trouble: &baro_recorder::Trouble) -> String {
    match trouble {
        baro_recorder::Trouble::None => String::new(),
        other => other.to_string(),
    }
}

fn line(running: &Running, started_ns: u64) {
    let statement = running.told().statement();
    let status = running.recorder().status();
    let (mut full, mut large, mut used) = (0, 0, 0);
    for ring in &status.rings {
        full += ring.refused_full;
        large += ring.refused_large;
        used += ring.used_bytes;
    }
    let known: u64 = statement.slots.iter().map(|slot| slot.known).sum();
    let durable: u64 = statement.slots.iter().map(|slot| slot.durable).sum();
    println!(
        "{{\"ms\":{},\"offered\":{known},\"refused_full\":{full},\"refused_large\":{large},\
         \"durable\":{durable},\"ring_bytes\":{used},\"blocks\":{},\"durable_blocks\":{},\
         \"syncs\":{},\"failures\":{},\"segments_suspect\":{},\"lost\":{},\"trouble\":{}}}",
        (clock::monotonic_ns() - started_ns) / 1_000_000,
        status.blocks,
        status.durable_blocks,
        status.syncs,
        status.failures,
        status.segments_suspect,
        status.lost,
        quoted(&trouble(&status.trouble)),
    );
    let _ = std::io::stdout().flush();
}

/// A text as JSON has it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
