//! Which counter is which: the name and unit of every series, from its file, key and field.
//!
//! Names follow the Prometheus form, `disk_sectors_written{device="vda"}`, with label values
//! escaped as Prometheus does (`\\`, `\"`, `\n`), so that a query language can split them again.
//! Used at open only, so it may allocate.
//!
//! Invariant: the number of names of a key is the most fields the sampler takes from its line.
//! Held by `tests::fields_are_where_the_kernel_puts_them`.

use super::SeriesSpec;
use super::source::ProcSource;

/// How the fields of one line become series.
pub(super) struct Row {
    /// Name (without labels) and unit for each field that is taken, in the order of the fields.
    fields: Vec<(String, &'static str)>,
    /// A label and its value, the same for all fields.
    label: Option<(&'static str, String)>,
}

impl Row {
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(super) fn series(&self, source: ProcSource) -> impl Iterator<Item = SeriesSpec> + '_ {
        self.fields.iter().map(move |(name, unit)| {
            let name = match &self.label {
                Some((label, value)) => format!("{name}{{{label}=\"{}\"}}", escape(value)),
                None => name.clone(),
            };
            SeriesSpec { name, unit, source }
        })
    }

    fn table(prefix: &str, fields: &[(&str, &'static str)]) -> Self {
        let fields = fields.iter().map(|(name, unit)| (format!("{prefix}{name}"), *unit)).collect();
        Self { fields, label: None }
    }

    fn one(name: String, unit: &'static str) -> Self {
        Self { fields: vec![(name, unit)], label: None }
    }

    fn labelled(mut self, label: &'static str, value: &[u8]) -> Self {
        self.label = Some((label, String::from_utf8_lossy(value).into_owned()));
        self
    }
}

/// The series of the line with this key; `None` for a key that is none.
pub(super) fn row(source: ProcSource, key: &[u8], kilobytes: bool) -> Option<Row> {
    match source {
        ProcSource::Stat => stat(key),
        ProcSource::Vmstat => {
            let name = plain(key)?;
            Some(Row::one(format!("vm_{name}"), vmstat_unit(name)))
        }
        ProcSource::Meminfo => {
            let name = meminfo_name(plain_with(key, b"()_")?);
            Some(if kilobytes {
                Row::one(format!("mem_{name}_bytes"), "bytes")
            } else {
                Row::one(format!("mem_{name}"), "pages")
            })
        }
        ProcSource::Diskstats => Some(Row::table("disk_", &DISK).labelled("device", key)),
        ProcSource::NetDev => Some(Row::table("net_", &NET).labelled("device", key)),
        ProcSource::PressureCpu => pressure("cpu", key),
        ProcSource::PressureIo => pressure("io", key),
        ProcSource::PressureMemory => pressure("memory", key),
        ProcSource::Schedstat => {
            let cpu = cpu_number(key)?;
            Some(Row::table("sched_", &SCHED).labelled("cpu", cpu))
        }
    }
}

fn stat(key: &[u8]) -> Option<Row> {
    Some(match key {
        // Not the sum of the CPUs: those that are offline are counted here only. A name of its
        // own, so that a sum over `cpu_user_ticks` counts nothing twice.
        b"cpu" => Row::table("cpu_all_", &CPU),
        b"intr" => Row::one("interrupts".to_owned(), "count"),
        b"ctxt" => Row::one("context_switches".to_owned(), "count"),
        b"processes" => Row::one("processes_forked".to_owned(), "count"),
        b"procs_running" => Row::one("processes_running".to_owned(), "processes"),
        b"procs_blocked" => Row::one("processes_blocked".to_owned(), "processes"),
        b"softirq" => Row::table("softirq_", &SOFTIRQ),
        _ => Row::table("cpu_", &CPU).labelled("cpu", cpu_number(key)?),
    })
}

fn cpu_number(key: &[u8]) -> Option<&[u8]> {
    key.strip_prefix(b"cpu")
        .filter(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

fn pressure(what: &str, key: &[u8]) -> Option<Row> {
    let key = plain(key)?;
    Some(Row::one(format!("pressure_{what}_{key}_total_us"), "us"))
}

/// A key that can stand in a name as it is.
fn plain(key: &[u8]) -> Option<&str> {
    plain_with(key, b"_")
}

fn plain_with<'a>(key: &'a [u8], others: &[u8]) -> Option<&'a str> {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || others.contains(byte);
    let text = str::from_utf8(key).ok()?;
    (!key.is_empty() && key.len() <= 64 && key.iter().all(fits)).then_some(text)
}

fn vmstat_unit(name: &str) -> &'static str {
    match name {
        // The kernel halves sectors for these two, and counts stacks in KiB.
        "pgpgin" | "pgpgout" | "nr_kernel_stack" | "nr_shadow_call_stack" => "KiB",
        name if name.starts_with("nr_tlb_") => "count",
        name if name.starts_with("nr_") => "pages",
        _ => "count",
    }
}

/// `MemTotal` to `total`, `Active(anon)` to `active_anon`, `AnonPages` to `anon_pages`.
fn meminfo_name(key: &str) -> String {
    let key = match key.strip_prefix("Mem") {
        Some(rest) if !rest.is_empty() => rest,
        _ => key,
    };
    let mut name = String::with_capacity(key.len() + 4);
    let mut before = '_';
    for letter in key.chars() {
        match letter {
            ')' => {}
            '(' | '_' => name.push('_'),
            _ => {
                if letter.is_ascii_uppercase() && before.is_ascii_lowercase() {
                    name.push('_');
                }
                name.push(letter.to_ascii_lowercase());
            }
        }
        before = letter;
    }
    name
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

const CPU: [(&str, &str); 10] = [
    ("user_ticks", "ticks"),
    ("nice_ticks", "ticks"),
    ("system_ticks", "ticks"),
    ("idle_ticks", "ticks"),
    ("iowait_ticks", "ticks"),
    ("irq_ticks", "ticks"),
    ("softirq_ticks", "ticks"),
    ("steal_ticks", "ticks"),
    ("guest_ticks", "ticks"),
    ("guest_nice_ticks", "ticks"),
];

const SOFTIRQ: [(&str, &str); 11] = [
    ("total", "count"),
    ("hi", "count"),
    ("timer", "count"),
    ("net_tx", "count"),
    ("net_rx", "count"),
    ("block", "count"),
    ("irq_poll", "count"),
    ("tasklet", "count"),
    ("sched", "count"),
    ("hrtimer", "count"),
    ("rcu", "count"),
];

/// 11 fields from Linux 2.6.25, 15 with discards from 4.18, 17 with flushes from 5.5. Sectors are
/// 512 bytes whatever the device says.
const DISK: [(&str, &str); 17] = [
    ("reads_completed", "count"),
    ("reads_merged", "count"),
    ("sectors_read", "sectors"),
    ("read_time_ms", "ms"),
    ("writes_completed", "count"),
    ("writes_merged", "count"),
    ("sectors_written", "sectors"),
    ("write_time_ms", "ms"),
    ("requests_in_flight", "requests"),
    ("busy_time_ms", "ms"),
    ("weighted_time_ms", "ms"),
    ("discards_completed", "count"),
    ("discards_merged", "count"),
    ("sectors_discarded", "sectors"),
    ("discard_time_ms", "ms"),
    ("flushes_completed", "count"),
    ("flush_time_ms", "ms"),
];

const NET: [(&str, &str); 16] = [
    ("received_bytes", "bytes"),
    ("received_packets", "packets"),
    ("receive_errors", "count"),
    ("receive_dropped", "packets"),
    ("receive_fifo_errors", "count"),
    ("receive_frame_errors", "count"),
    ("receive_compressed", "packets"),
    ("receive_multicast", "packets"),
    ("sent_bytes", "bytes"),
    ("sent_packets", "packets"),
    ("send_errors", "count"),
    ("send_dropped", "packets"),
    ("send_fifo_errors", "count"),
    ("send_collisions", "count"),
    ("send_carrier_errors", "count"),
    ("send_compressed", "packets"),
];

/// The cpu lines of schedstat versions 15 to 17. The second field has been 0 since 2.6.23.
const SCHED: [(&str, &str); 9] = [
    ("yields", "count"),
    ("legacy", "count"),
    ("schedule_calls", "count"),
    ("schedule_idle", "count"),
    ("wakeups", "count"),
    ("wakeups_local", "count"),
    ("run_time_ns", "ns"),
    ("run_delay_ns", "ns"),
    ("timeslices", "count"),
];
