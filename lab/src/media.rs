//! `lab media`: what the models of disks really do, measured by fio in a guest.

use crate::machine::disk::{Driver, Model};
use crate::machine::{Disks, Hardware};
use crate::run;
use crate::scratch::{Remove, tempfile};
use crate::site::{Site, bring};
use serde_json::{Value, json};

/// Name, and fio's options.
const JOBS: &[(&str, &str)] = &[
    ("write_mb_per_s", "--rw=write --bs=1M --iodepth=4"),
    ("read_mb_per_s", "--rw=read --bs=1M --iodepth=4"),
    ("write_4k_iops", "--rw=randwrite --bs=4k --iodepth=8"),
    ("read_4k_iops", "--rw=randread --bs=4k --iodepth=8"),
];

/// Measures one model.
pub(crate) fn run(site: Site<'_>, model: &'static Model) -> Result<Value, String> {
    let fio = crate::tool::which("fio").ok_or("no fio here (apt-get install fio)")?;
    let image = tempfile("media");
    let _remove = Remove(image.clone());
    let hardware = Hardware { card: model.driver == Driver::Mmc, ..Hardware::default() };
    let mut machine = site.start(hardware, &Disks::model(model, image))?;
    bring(&mut machine, &fio, "/usr/bin/fio")?;
    machine.sh(&run::prepare(model, "none", "", "", None), 60)?;
    let mut measured = serde_json::Map::new();
    for (name, options) in JOBS {
        let line = format!(
            "fio --name=m --filename={} --direct=1 --ioengine=libaio --size=512M --runtime=5 --time_based \
             --ramp_time=1 {options} --output-format=json",
            model.device()
        );
        let text = machine.sh(&line, 60)?;
        let found: Value =
            serde_json::from_str(&text).map_err(|error| format!("fio: {error}: {text}"))?;
        let job = &found["jobs"][0];
        let half = if name.starts_with("read") { &job["read"] } else { &job["write"] };
        let value = if name.ends_with("iops") {
            half["iops"].as_f64().unwrap_or(0.0).round()
        } else {
            (half["bw_bytes"].as_f64().unwrap_or(0.0) / 1e5).round() / 10.0
        };
        measured.insert((*name).to_owned(), json!(value));
    }
    Ok(json!({
        "what": "medium", "disk": model.name, "stands_for": model.what, "kernel": site.kernel.release,
        "driver": if model.driver == Driver::Mmc { "mmc_block" } else { "virtio_blk" },
        "measured": measured,
    }))
}
