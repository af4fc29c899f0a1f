//! Causes at the device and at the processor: slow by itself, busy for another, held back for a
//! control group; and a processor that somebody else has.
//!
//! Invariant: the victim's calls need nothing but the device, or the processor. Held by
//! `baro-lab causes`.

use super::account::Account;
use super::cast::Cast;
use super::show::Show;
use super::stage::Stage;
use baro_bench::error::BenchError;
use baro_bench::stand::Speed;
use baro_bench_sys::calls;
use baro_sys::memory::AlignedBuffer;
use baro_sys::{clock, files, schedule, task};
use baro_tune::Setting;
use std::fs::File;
use std::io;
use std::path::Path;

const S: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;
/// What a direct write gets at once; at 2 MiB/s half a second.
const DIRECT_BYTES: u64 = MIB;
const SPEED: Speed = Speed { write_bytes: 2 * MIB, writes: 0, read_bytes: 0, reads: 0 };

/// A file that has its blocks, written past the page cache.
fn direct(path: &Path) -> Result<(File, AlignedBuffer), BenchError> {
    let failed = |source| BenchError::file("prepare", path)(source);
    let file = calls::open_direct(path).map_err(failed)?;
    let (buffer, _) = AlignedBuffer::new(DIRECT_BYTES as usize)?;
    files::write_at(&file, &buffer, 0).map_err(failed)?;
    files::sync(&file).map_err(failed)?;
    Ok((file, buffer))
}

fn overwrite(
    show: &Show<'_>,
    account: &mut Account,
    (file, buffer): &(File, AlignedBuffer),
) -> io::Result<()> {
    while show.goes_on() {
        account.call("pwrite64", || files::write_at(file, buffer, 0))?;
    }
    Ok(())
}

/// Direct overwrites on a device of 2 MiB/s.
pub(super) fn slow_device(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    let file = direct(&stage.path("direct"))?;
    stage.stand.set_speed(SPEED)?;
    stage.perform(4 * S, Cast::default(), |show, account| overwrite(show, account, &file))
}

/// The same on a fast device, in a control group that gets 2 MiB/s of it.
pub(super) fn cgroup_throttle(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    let file = direct(&stage.path("direct"))?;
    let group = stage.stand.make_group("blkio")?;
    let limit = group.join("blkio.throttle.write_bps_device");
    let number = stage.stand.device_number().to_owned();
    let bytes = SPEED.write_bytes.to_string();
    stage.stand.set(&Setting::line(limit.to_string_lossy(), &number, bytes, "0"))?;
    let tasks = group.join("tasks");
    stage.perform(4 * S, Cast::default(), |show, account| {
        // Of version 1: one thread of a process can be in a group of its own.
        let joined = files::write_setting(&tasks, &task::thread_id().to_string());
        joined.map_err(io::Error::other)?;
        overwrite(show, account, &file)
    })
}

/// Another has 8 MiB on their way to a device of 10 MiB/s at any time; the victim makes a few bytes
/// durable, which come behind them.
pub(super) fn fsync_behind_stream(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    const AHEAD: u64 = 8;
    let path = stage.path("small");
    let failed = |source| BenchError::file("prepare", &path)(source);
    let file = files::create(&path).map_err(failed)?;
    files::sync(&file).map_err(failed)?;
    let stream = files::create(&stage.path("stream")).map_err(failed)?;
    stage.stand.set_speed(Speed { write_bytes: 10 * MIB, ..Speed::default() })?;
    let cast = Cast::default().with("antagonist", |show| {
        let piece = vec![7; MIB as usize];
        for at in 0..300_u64 {
            if show.goes_on() {
                files::write_at(&stream, &piece, at * MIB)?;
                calls::start_write_back(&stream, at * MIB, MIB)?;
                if let Some(behind) = at.checked_sub(AHEAD) {
                    calls::write_back(&stream, behind * MIB, MIB)?;
                }
            }
        }
        Ok(())
    });
    stage.perform(6 * S, cast, |show, account| {
        show.pause_ns(S);
        while show.goes_on() {
            files::write_at(&file, b"some bytes", account.calls * 10)?;
            account.call("fsync", || files::sync(&file))?;
            show.pause_ns(S / 20);
        }
        Ok(())
    })
}

/// A task of real-time priority has the victim's processor for 400 ms of each 600.
pub(super) fn cpu_preemption(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    const EACH_BYTES: usize = 16 << 20;
    let path = stage.path("copied");
    let file = files::create(&path).map_err(BenchError::file("prepare", &path))?;
    let data = vec![7; EACH_BYTES];
    files::write_at(&file, &data, 0).map_err(BenchError::file("prepare", &path))?;
    let cpu = schedule::allowed_cpus().last().copied().unwrap_or(0);
    let cast = Cast::default().with("antagonist", move |show| {
        schedule::set_cpu(cpu).map_err(io::Error::other)?;
        schedule::set_fifo(10).map_err(io::Error::other)?;
        while show.goes_on() {
            let end_ns = clock::monotonic_ns() + 4 * S / 10;
            while clock::monotonic_ns() < end_ns {
                std::hint::spin_loop();
            }
            clock::sleep_ns(2 * S / 10);
        }
        Ok(())
    });
    stage.perform(4 * S, cast, |show, account| {
        schedule::set_cpu(cpu).map_err(io::Error::other)?;
        while show.goes_on() {
            account.call("pwrite64", || files::write_at(&file, &data, 0))?;
        }
        Ok(())
    })
}
