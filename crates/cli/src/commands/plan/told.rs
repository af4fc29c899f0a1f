//! A plan as text and as JSON.

use super::inputs::VERSION;
use crate::failure::Result;
use crate::size::{show_bytes, show_ns};
use baro_command::Lines;
use baro_plan::{
    FIGURES, Figure, Inputs, Moved, Need, Numbers, Reason, Source, Unit, moved_most, reasons,
};
use baro_show::number;
use serde_json::{Value, json};

/// Where a group of figures begins.
const GROUPS: [(&str, &str); 5] = [
    ("arrivals_per_s", "What comes"),
    ("block_bytes", "Log and runs"),
    ("ring_bytes", "Memory"),
    ("files_file_bytes", "Instead a file for each sensor"),
    ("sensors_of_one_machine", "Machines"),
];
/// What is known of frames only, or of samples only.
const OF_SAMPLES: [&str; 2] = ["rest_bytes_per_sample", "times_written"];
/// Digits behind the point of small numbers.
const SMALL: f64 = 100.0;

fn shown(value: f64, unit: Unit) -> String {
    let digits = usize::from(value < SMALL);
    match unit {
        _ if value.is_infinite() => "not known".to_owned(),
        Unit::Bytes if value < SMALL => format!("{} B", number(value, 2)),
        Unit::Bytes => show_bytes(value.round() as u64),
        Unit::BytesPerS => format!("{}/s", show_bytes(value.round() as u64)),
        Unit::PerS => format!("{}/s", number(value, digits)),
        Unit::Seconds => show_ns((value * 1e9) as u64),
        Unit::Days => format!("{} days", number(value, digits)),
        Unit::Years => format!("{} years", number(value, digits)),
        Unit::Count => number(value, 0),
        Unit::Ratio => number(value, 2),
    }
}

fn moved(by: &[Moved]) -> String {
    let each: Vec<String> =
        by.iter().map(|one| format!("{} x{}", one.input, number(one.factor, 2))).collect();
    each.join(", ")
}

/// Whether a figure says something of these inputs.
fn is_told(figure: &Figure, inputs: &Inputs, value: f64) -> bool {
    let none = inputs.has_frames() && OF_SAMPLES.contains(&figure.key);
    !none && (value.is_finite() || figure.unit != Unit::Years)
}

pub(super) fn text(inputs: &Inputs, all: &Numbers, needs: &[Need]) -> Result<()> {
    let mut out = Lines::printed();
    let mut sources: Vec<Source> = Vec::new();
    row!(out, "{:<38}{:>12}   doubled or halved, these move it most", "", "")?;
    for figure in FIGURES {
        let value = (figure.of)(all);
        if !is_told(&figure, inputs, value) {
            continue;
        }
        if let Some((_, group)) = GROUPS.iter().find(|(first, _)| *first == figure.key) {
            row!(out, "{group}")?;
        }
        let at = sources.iter().position(|source| *source == figure.source).unwrap_or_else(|| {
            sources.push(figure.source);
            sources.len() - 1
        });
        let moves = moved(&moved_most(inputs, &figure));
        let label = format!("{} [{}]", figure.label, at + 1);
        row!(out, "  {label:<36}{:>12}   {moves}", shown(value, figure.unit))?;
    }
    let why = reasons(inputs, all);
    row!(out, "")?;
    match why.as_slice() {
        [] => {
            row!(out, "Log or files: both do; a store also finds one sensor's interval at once.")?
        }
        some => {
            row!(out, "Write a log, since with a file for each sensor:")?;
            for reason in some {
                row!(out, "  - {}", because(reason))?;
            }
        }
    }
    if !needs.is_empty() {
        row!(out, "Not enough:")?;
        for need in needs {
            row!(out, "  - {}", lacking(need))?;
        }
    }
    row!(out, "To do so:")?;
    for command in commands(inputs, all) {
        row!(out, "  {command}")?;
    }
    row!(out, "Sources:")?;
    for (at, source) in sources.iter().enumerate() {
        row!(out, "  [{}] {}: {}", at + 1, source.name(), source.text())?;
    }
    Ok(out.flush()?)
}

fn because(reason: &Reason) -> String {
    let rate = |value: f64| shown(value, Unit::BytesPerS);
    match *reason {
        Reason::TooSlow { carried, wanted } => {
            format!("they carry {}, less than twice the {} that comes", rate(carried), rate(wanted))
        }
        Reason::AtRisk { seconds } => {
            format!("a power cut takes the last {} of each", shown(seconds, Unit::Seconds))
        }
        Reason::NoBuffers { bytes } => {
            format!(
                "memory gives each a buffer of {}, less than a unit of the disk",
                shown(bytes, Unit::Bytes)
            )
        }
        Reason::MoreWear { files, store } => format!(
            "{} bytes go to the device for each that comes; with the store {}",
            number(files, 2),
            number(store, 2)
        ),
        Reason::Frames => {
            "frames are few streams, and a log of frames is a file already".to_owned()
        }
    }
}

fn lacking(need: &Need) -> String {
    match *need {
        Need::DiskRate { wanted, enough } => format!(
            "the disk's rate: {} are written; half of a disk of {} would do",
            shown(wanted, Unit::BytesPerS),
            shown(enough, Unit::BytesPerS)
        ),
        Need::Disk { enough, days } => format!(
            "the disk: {} would do, or --keep of {}",
            shown(enough, Unit::Bytes),
            shown(days, Unit::Days)
        ),
        Need::Memory { enough, stall_s } => {
            let or = match stall_s {
                Some(seconds) => format!(", or --stall of {}", shown(seconds, Unit::Seconds)),
                None => ", even without any stall".to_owned(),
            };
            format!("memory: {} would do{or}", shown(enough, Unit::Bytes))
        }
        Need::Life { years, enough, within_s } => {
            let or = match within_s {
                Some(seconds) => {
                    format!(", or --durable-within of {}", shown(seconds, Unit::Seconds))
                }
                None => String::new(),
            };
            format!(
                "the flash lasts {}: one that takes {} in all would do{or}",
                shown(years, Unit::Years),
                shown(enough, Unit::Bytes)
            )
        }
        Need::Machines { enough } => {
            format!("one machine: {} of them would do", shown(enough, Unit::Count))
        }
    }
}

/// What makes and records such a store.
fn commands(inputs: &Inputs, all: &Numbers) -> [String; 2] {
    let mib = |bytes: f64| format!("{}M", (bytes / 1_048_576.0).ceil());
    let time = |seconds: f64| match seconds {
        s if s < 1.0 => format!("{}ms", (s * 1e3).round()),
        s if s < 86_400.0 => format!("{}s", s.round()),
        s => format!("{}d", (s / 86_400.0).ceil()),
    };
    let kept = if inputs.has_frames() {
        String::new()
    } else {
        format!(" --keep-runs {}", time(inputs.keep_s))
    };
    [
        format!("baro init /data/s --size {} --recycle", mib(all.log_bytes)),
        format!(
            "baro record /data/s --ring {} --durable-within {}{kept} ...",
            mib(all.ring_bytes),
            time(inputs.durable_within_s)
        ),
    ]
}

/// A number, or null where it is not known.
fn finite(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { Value::Null }
}

pub(super) fn json(inputs: &Inputs, all: &Numbers, needs: &[Need]) -> Value {
    let figures: Vec<Value> = FIGURES
        .iter()
        .filter(|figure| is_told(figure, inputs, (figure.of)(all)))
        .map(|figure| {
            let moves = moved_most(inputs, figure);
            let by: Vec<Value> = moves
                .iter()
                .map(|one| json!({ "input": one.input, "factor": one.factor }))
                .collect();
            json!({
                "key": figure.key,
                "value": finite((figure.of)(all)),
                "source": figure.source.name(),
                "source_text": figure.source.text(),
                "moved_by": by,
            })
        })
        .collect();
    let mut given = *inputs;
    let given: serde_json::Map<String, Value> = baro_plan::Knob::ALL
        .iter()
        .map(|knob| (knob.name.replace('-', "_"), finite(*(knob.place)(&mut given))))
        .collect();
    let [init, record] = commands(inputs, all);
    json!({
        "plan_version": VERSION,
        "inputs": given,
        "figures": figures,
        "log": !reasons(inputs, all).is_empty(),
        "reasons": reasons(inputs, all).iter().map(because).collect::<Vec<_>>(),
        "needs": needs.iter().map(lacking).collect::<Vec<_>>(),
        "commands": {
            "log_bytes": all.log_bytes as u64,
            "ring_bytes": all.ring_bytes as u64,
            "init": init,
            "record": record,
        },
    })
}
