//! What was typed, as inputs of a plan; and the plan of a file, as `baro init` takes it.

use super::{Arguments, Kind, Values};
use crate::failure::Result;
use baro_plan::Inputs;
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// The version of a plan as JSON.
pub(super) const VERSION: u64 = 1;
/// Larger plans have more figures than anybody reads.
const PLAN_BYTES_MAX: u64 = 1 << 20;
/// Of a scan of all sensors so many come with one push; what has a time of its own comes alone.
const PER_PUSH_MAX: f64 = 1_024.0;

/// A number; NaN and infinity are none.
pub(super) fn number(text: &str) -> std::result::Result<f64, String> {
    match text.replace([',', '_'], "").parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("expected a number, found {text:?}")),
    }
}

/// Samples a second: a number, with Hz or kHz, or one in a time: 1/10s.
pub(super) fn rate(text: &str) -> std::result::Result<f64, String> {
    let wrong = || format!("expected samples a second such as 10, 10Hz or 1/10s, found {text:?}");
    if let Some((count, time)) = text.split_once('/') {
        let ns = match time.starts_with(|c: char| c.is_ascii_digit()) {
            true => crate::size::nanoseconds_above_0(time),
            false => crate::size::nanoseconds_above_0(&format!("1{time}")),
        };
        return Ok(number(count).map_err(|_| wrong())? * 1e9 / ns.map_err(|_| wrong())? as f64);
    }
    let (text, factor) = match (text.strip_suffix("kHz"), text.strip_suffix("Hz")) {
        (Some(rest), _) => (rest, 1_000.0),
        (None, Some(rest)) => (rest, 1.0),
        (None, None) => (text, 1.0),
    };
    number(text.trim()).map(|number| number * factor).map_err(|_| wrong())
}

impl Values {
    /// Bits of a value once the one before is known, and of the differences between sensors.
    fn bits(self) -> (f64, f64) {
        match self {
            Values::Walk => (3.5, 14.0),
            Values::Sensor => (8.0, 14.0),
            Values::Counter => (7.0, 32.0),
            Values::State => (0.2, 3.0),
            Values::Float => (44.0, 52.0),
        }
    }
}

impl From<Kind> for baro_plan::Kind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Hdd => baro_plan::Kind::Hdd,
            Kind::Ssd => baro_plan::Kind::Ssd,
            Kind::Card => baro_plan::Kind::Card,
        }
    }
}

impl Arguments {
    pub(super) fn inputs(&self) -> Inputs {
        let (value_bits, spread_bits) = self.values.bits();
        let kind = baro_plan::Kind::from(self.kind);
        let seconds = |ns: u64| ns as f64 / 1e9;
        Inputs {
            sensors: self.sensors,
            rate_hz: self.rate,
            frame_bytes: self.frame.unwrap_or(0) as f64,
            value_bits: self.value_bits.unwrap_or(value_bits),
            spread_bits: self.spread_bits.unwrap_or(spread_bits),
            // To and fro: as many nanoseconds again.
            time_bits: (self.jitter as f64 * 2.0).max(1.0).log2(),
            per_push: self.per_push.unwrap_or_else(|| match self.jitter {
                0 => self.sensors.clamp(1.0, PER_PUSH_MAX),
                _ => 1.0,
            }),
            durable_within_s: seconds(self.durable_within),
            stall_s: seconds(self.stall),
            keep_s: seconds(self.keep),
            memory_bytes: self.memory as f64,
            disk_bytes: self.disk as f64,
            disk_rate: self.disk_rate.map_or(kind.rate(), |rate| rate as f64),
            endurance_bytes: self.tbw.map_or(f64::INFINITY, |bytes| bytes as f64),
            life_s: self.years * 365.25 * 86_400.0,
            kind,
        }
    }
}

/// The size of the log that a plan in JSON asks for.
pub(crate) fn log_bytes(path: &Path) -> Result<u64> {
    let shown = path.display();
    let mut bytes = Vec::new();
    baro_sys::files::open(path)?.take(PLAN_BYTES_MAX).read_to_end(&mut bytes)?;
    let plan: Value = serde_json::from_slice(&bytes).map_err(|error| {
        format!("{shown}: expected a plan in JSON: {error}; baro plan --format json writes one")
    })?;
    match plan.get("plan_version").and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(other) => {
            return Err(format!("{shown}: expected a plan of version {VERSION}, found version {other}; make it again with this baro plan").into());
        }
        None => {
            return Err(format!(
                "{shown}: expected a plan, found other JSON; baro plan --format json writes one"
            )
            .into());
        }
    }
    let found = plan.pointer("/commands/log_bytes").and_then(Value::as_u64);
    found.ok_or_else(|| {
        format!("{shown}: expected commands.log_bytes as a whole number, found none").into()
    })
}
