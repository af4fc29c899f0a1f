//! The full step `lake`: hand-overs are killed at random moments, into a folder and into a server of S3 that
//! people have, and the table is read after each (`scripts/lake-kills.py`).
//!
//! Python's packages lie in `python/lake` of the target folder. Where they cannot be had, that is a skip.

use crate::ci::{Outcome, Report};
use crate::python::{environment, passed};
use crate::shell::{Cmd, root, target_dir};

/// What the script needs: a reader, and a server of S3.
const PACKAGES: &str = "deltalake==1.6.6 pyarrow==26.0.1 moto[server]==5.2.5 boto3==1.44.8";
const BUILD: &str = "cargo build --locked -p baro-cli -p baro-lake";
const ROUNDS: &str = "40";

/// The full step.
pub(crate) fn step() -> Outcome {
    let mut report = Report::default();
    let folder = match environment("lake", PACKAGES, None) {
        Ok(folder) => folder,
        Err(why) => {
            report.skip("hand-overs that are killed", &why);
            return Ok(report);
        }
    };
    let build = Cmd::new(BUILD);
    if !build.run().is_ok_and(|built| built) {
        return Err(build.to_string());
    }
    let programs = target_dir().join("debug");
    let script = root().join("scripts/lake-kills.py");
    for place in ["local", "s3"] {
        let rows = target_dir().join("tmp").join(format!("lake-kills-{place}.jsonl"));
        let _ = std::fs::remove_file(&rows);
        let run = Cmd::new(&folder.join("bin/python").to_string_lossy())
            .arg(&script.to_string_lossy())
            .arg(&rows.to_string_lossy())
            .arg("--rounds")
            .arg(ROUNDS)
            .arg("--place")
            .arg(place)
            .env("BARO", &programs.join("baro").to_string_lossy())
            .env("BARO_LAKE", &programs.join("baro-lake").to_string_lossy());
        passed(&mut report, &run, run.run())?;
    }
    Ok(report)
}
