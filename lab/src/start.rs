//! `lab start`: how long it takes from the call to a result: a saved machine restored, a program of
//! the project brought into it and run on a new file system, its output back.

use crate::machine::disk::MODELS;
use crate::machine::{Disks, Hardware};
use crate::run;
use crate::scratch::{Remove, tempfile};
use crate::site::Site;
use serde_json::{Value, json};
use std::time::Instant;

/// Starts a machine and runs `baro --version` on a new ext4, `times` times.
pub(crate) fn run(site: Site<'_>, times: usize) -> Result<Value, String> {
    let mut seconds = Vec::new();
    // The first one may have to boot and save.
    for round in 0..=times {
        let begin = Instant::now();
        let image = tempfile("start");
        let _remove = Remove(image.clone());
        let mut machine = site.start(Hardware::default(), &Disks::model(&MODELS[0], image))?;
        site.bring_baro(&mut machine)?;
        machine.sh(&run::prepare(&MODELS[0], "ext4", "", "", None), 60)?;
        let said =
            machine.sh("cd /mnt && baro init s --size 16M >/dev/null && baro --version", 60)?;
        if !said.starts_with("barograph ") {
            return Err(format!("baro --version: {said}"));
        }
        drop(machine);
        if round > 0 {
            seconds.push((begin.elapsed().as_secs_f64() * 1000.0).round() / 1000.0);
        }
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds.get(seconds.len() / 2).copied();
    Ok(
        json!({ "what": "start", "kernel": site.kernel.release, "seconds": seconds, "median_s": median }),
    )
}
