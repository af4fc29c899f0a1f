//! Causes that are limits of memory: dirty data of a device, of the machine, memory of a group.
//!
//! Invariant: the machine's own limits are changed only by the cause that says so. Held by
//! [`super::Cause::global`], which the command line asks for.

use super::account::Account;
use super::cast::Cast;
use super::show::Show;
use super::stage::Stage;
use baro_bench::error::BenchError;
use baro_bench::stand::Speed;
use baro_sys::files;
use std::fs::File;
use std::io;
use std::path::Path;

const S: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;
const SPEED: Speed = Speed { write_bytes: 5 * MIB, writes: 0, read_bytes: 0, reads: 0 };

/// Writes a file as fast as it may, `each` bytes a call, over and over the same 64 MiB.
fn fill(show: &Show<'_>, account: &mut Account, file: &File, each: u64) -> io::Result<()> {
    let data = vec![7; each as usize];
    let places = 64 * MIB / each;
    while show.goes_on() {
        let offset = account.calls % places * each;
        account.call("pwrite64", || files::write_at(file, &data, offset))?;
    }
    Ok(())
}

fn empty(path: &Path) -> Result<File, BenchError> {
    files::create(path).map_err(BenchError::file("make", path))
}

/// The device may have 8 MiB of dirty data and writes 5 MiB/s; the victim writes 4 MiB a call.
pub(super) fn dirty_limit_device(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    let file = empty(&stage.path("filled"))?;
    stage.stand.limit_dirty(8 * MIB)?;
    stage.stand.set_speed(SPEED)?;
    stage.perform(6 * S, Cast::default(), |show, account| fill(show, account, &file, 4 * MIB))
}

/// The same by the machine's limit.
pub(super) fn dirty_limit_global(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    let file = empty(&stage.path("filled"))?;
    stage.stand.limit_dirty_of_machine(8 * MIB)?;
    stage.stand.set_speed(SPEED)?;
    stage.perform(6 * S, Cast::default(), |show, account| fill(show, account, &file, 4 * MIB))
}

/// The whole process may have 32 MiB of new memory, page cache included, which fills with dirty
/// pages; each further page waits until one of these is written.
pub(super) fn memory_reclaim(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    let file = empty(&stage.path("filled"))?;
    let group = stage.stand.make_group("memory")?;
    let limit = group.join("memory.limit_in_bytes");
    files::write_setting(&limit, &(32 * MIB).to_string())?;
    stage.stand.set_speed(SPEED)?;
    let home = memory_group()?;
    let own = std::process::id().to_string();
    let result = {
        let group = group.join("cgroup.procs");
        stage.perform(8 * S, Cast::default(), |show, account| {
            // When all is prepared: what is there already counts for the group it came from.
            files::write_setting(&group, &own).map_err(io::Error::other)?;
            fill(show, account, &file, 4 * MIB)
        })
    };
    files::write_setting(&home, &own)?;
    result
}

/// The file by which this process goes back to where it is.
fn memory_group() -> Result<std::path::PathBuf, BenchError> {
    let groups = files::read_text(Path::new("/proc/self/cgroup"), 64 << 10)?;
    let own = groups.lines().find_map(|line| line.split_once(":memory:/")).map(|(_, path)| path);
    let own = own.ok_or_else(|| {
        BenchError::Refused("/proc/self/cgroup: no memory controller of version 1".to_owned())
    })?;
    Ok(Path::new("/sys/fs/cgroup/memory").join(own).join("cgroup.procs"))
}
