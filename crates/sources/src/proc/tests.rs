//! Tests of the sampler over committed texts of three machines, over texts that change under it,
//! over hostile ones, and over this machine's own /proc.
#![allow(clippy::disallowed_methods, reason = "tests make their own proc trees")]

use std::collections::HashMap;
use std::fs;

use proptest::prelude::*;

use super::*;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/proc").join(name)
}

fn every_tick() -> ProcSelection {
    ProcSource::ALL.iter().fold(ProcSelection::none(), |all, one| all.with(*one, 1))
}

fn sample(sampler: &mut ProcSampler) -> HashMap<String, i64> {
    let mut values = Vec::new();
    assert_eq!(sampler.sample(&mut values), values.len());
    let named: HashMap<_, _> = values
        .iter()
        .map(|(series, value)| (sampler.series()[*series as usize].name.clone(), *value))
        .collect();
    assert_eq!(named.len(), values.len(), "a series came twice");
    named
}

fn open(name: &str) -> (ProcSampler, HashMap<String, i64>) {
    let mut sampler = ProcSampler::open(&fixture(name), &every_tick()).unwrap();
    let values = sample(&mut sampler);
    assert_eq!(values.len(), sampler.series().len(), "every series has a value");
    (sampler, values)
}

fn unit<'a>(sampler: &'a ProcSampler, name: &str) -> &'a str {
    sampler.series().iter().find(|series| series.name == name).unwrap().unit
}

/// A proc tree of its own for a test, gone afterwards.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("baro-proc-{}-{name}", std::process::id()));
        fs::create_dir_all(root.join("net")).unwrap();
        fs::create_dir_all(root.join("pressure")).unwrap();
        Self(root)
    }

    fn write(&self, source: ProcSource, text: &[u8]) {
        fs::write(self.0.join(source.path()), text).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn reads_a_small_machine_of_linux_6_18() {
    let (sampler, values) = open("vm-6.18");
    let missing: Vec<_> = sampler.missing().iter().map(|missing| missing.source).collect();
    assert_eq!(missing, [ProcSource::Schedstat]);
    assert_eq!(sampler.missing()[0].reason.kind(), io::ErrorKind::NotFound);
    assert_eq!(values.keys().filter(|name| name.starts_with("vm_")).count(), 192);
    assert_eq!(values.keys().filter(|name| name.starts_with("mem_")).count(), 54);
    assert_eq!(values["mem_total_bytes"], 24_684_096 * 1024);
    assert_eq!(unit(&sampler, "mem_total_bytes"), "bytes");
    assert_eq!(unit(&sampler, "mem_huge_pages_total"), "pages");
    assert!(values.contains_key("disk_flush_time_ms{device=\"vda\"}"));
    assert!(values.contains_key("pressure_cpu_full_total_us"));
    // Seven loop devices nobody used.
    assert_eq!(sampler.reports().map(|report| report.idle_devices).sum::<u64>(), 7);
    assert_eq!(sampler.reports().map(|report| report.malformed_lines).sum::<u64>(), 0);
    assert_eq!(sampler.reports().map(|report| report.appeared_lines).sum::<u64>(), 0);
}

#[test]
fn fields_are_where_the_kernel_puts_them() {
    let (sampler, values) = open("server-5.10");
    let disk = |name: &str| values[&format!("disk_{name}{{device=\"dm-0\"}}")];
    assert_eq!(disk("reads_completed"), 1);
    assert_eq!(disk("sectors_read"), 3);
    assert_eq!(disk("sectors_written"), 7);
    assert_eq!(disk("requests_in_flight"), 9);
    assert_eq!(disk("flush_time_ms"), 17);
    assert_eq!(values["softirq_total"], 912_345_678);
    assert_eq!(values["softirq_rcu"], 10);
    assert_eq!(values["interrupts"], 18_446_744_073);
    assert_eq!(values["context_switches"], 812_345_678_901);
    assert_eq!(values["processes_blocked"], 3);
    assert_eq!(values["pressure_io_some_total_us"], 123_456_789);
    assert_eq!(values["pressure_memory_full_total_us"], 987_654);
    assert_eq!(values["pressure_cpu_some_total_us"], 424_242);
    assert!(!values.contains_key("pressure_cpu_full_total_us"));
    assert_eq!(values["sched_run_time_ns{cpu=\"31\"}"], 5_000_000_031);
    assert_eq!(values["sched_run_delay_ns{cpu=\"0\"}"], 6_000_000_000);
    assert_eq!(values.keys().filter(|name| name.starts_with("cpu_user_ticks")).count(), 32);
    let sum: i64 = (0..32).map(|cpu| values[&format!("cpu_steal_ticks{{cpu=\"{cpu}\"}}")]).sum();
    assert_eq!(values["cpu_all_steal_ticks"], sum);
    assert_eq!(values["mem_committed_as_bytes"], 1024);
    assert_eq!(values["mem_nfs_unstable_bytes"], 0);
    assert_eq!(values["mem_direct_map4k_bytes"], 2048);
    assert_eq!(unit(&sampler, "vm_nr_tlb_remote_flush"), "count");
    assert_eq!(unit(&sampler, "vm_nr_free_pages"), "pages");
    assert_eq!(unit(&sampler, "disk_sectors_written{device=\"dm-0\"}"), "sectors");
}

#[test]
fn reads_a_board_of_linux_4_4() {
    let (sampler, values) = open("board-4.4");
    let missing: Vec<_> = sampler.missing().iter().map(|missing| missing.source).collect();
    use ProcSource::{PressureCpu, PressureIo, PressureMemory, Schedstat};
    assert_eq!(missing, [PressureCpu, PressureIo, PressureMemory, Schedstat]);
    // The first number is glued to the colon.
    assert_eq!(values["net_received_bytes{device=\"eth0\"}"], 123);
    assert_eq!(values["net_received_packets{device=\"eth0\"}"], 4);
    assert_eq!(values["net_sent_bytes{device=\"eth0\"}"], 11);
    assert_eq!(values["net_send_compressed{device=\"eth0\"}"], 18);
    // 11 fields, and nothing invented for the rest.
    assert_eq!(values["disk_weighted_time_ms{device=\"mmcblk0\"}"], 8_214_686);
    assert!(!values.contains_key("disk_discards_completed{device=\"mmcblk0\"}"));
    assert_eq!(values.keys().filter(|name| name.contains("mmcblk0boot0")).count(), 11);
    assert_eq!(values["mem_active_anon_bytes"], 17_644 * 1024);
    assert_eq!(values["mem_huge_pages_total"], 0);
    assert_eq!(unit(&sampler, "vm_pgpgout"), "KiB");
}

#[test]
fn label_values_are_escaped() {
    let (_, values) = open("server-5.10");
    assert_eq!(values["net_received_bytes{device=\"br-\\\"x\\\\y\"}"], 1);
}

#[test]
fn idle_disks_are_recorded_when_asked_for() {
    let selection = ProcSelection::none().with(ProcSource::Diskstats, 1);
    let disks = |selection| ProcSampler::open(&fixture("board-4.4"), &selection).unwrap();
    assert_eq!(disks(selection.clone()).series().len(), 3 * 11);
    assert_eq!(disks(selection.with_idle_disks(true)).series().len(), 5 * 11);
}

#[test]
fn divisors_thin_out_the_dear_files() {
    let selection = ProcSelection::none()
        .with(ProcSource::Stat, 4)
        .with(ProcSource::Meminfo, 4)
        .with(ProcSource::Diskstats, 1)
        .with(ProcSource::Vmstat, 0);
    let mut sampler = ProcSampler::open(&fixture("board-4.4"), &selection).unwrap();
    let mut due = Vec::new();
    for _ in 0..9 {
        let values = sample(&mut sampler);
        due.push((values.contains_key("interrupts"), values.contains_key("mem_dirty_bytes")));
        assert!(values.contains_key("disk_sectors_written{device=\"mmcblk0\"}"));
        assert!(!values.contains_key("vm_pgfault"));
    }
    // All at the first tick, then by turns.
    assert_eq!(due[0], (true, true));
    assert!(due[1..].iter().all(|(stat, meminfo)| !(*stat && *meminfo)));
    let readings: Vec<_> = sampler.reports().map(|r| (r.source, r.readings)).collect();
    use ProcSource::{Diskstats, Meminfo, Stat};
    assert_eq!(readings, [(Stat, 3), (Meminfo, 3), (Diskstats, 9)]);
}

#[test]
fn devices_that_come_are_counted_and_those_that_go_give_no_value() {
    let tree = Tree::new("devices");
    let line = |name: &str, reads: i64| format!("8 0 {name} {reads} 2 3 4 5 6 7 8 9 10 11\n");
    let write = |names: &[&str], reads| {
        let text: String = names.iter().map(|name| line(name, reads)).collect();
        tree.write(ProcSource::Diskstats, text.as_bytes());
    };
    write(&["sda", "sdb", "sdc", "loop0"], 1);
    let mut sampler = ProcSampler::open(&tree.0, &every_tick()).unwrap();
    let reads = |values: &HashMap<String, i64>| {
        let mut reads: Vec<_> = values
            .iter()
            .filter_map(|(name, value)| {
                let name = name.strip_prefix("disk_reads_completed{device=\"")?;
                Some(format!("{}{value}", name.strip_suffix("\"}")?))
            })
            .collect();
        reads.sort();
        reads.join(" ")
    };
    let appeared = |sampler: &ProcSampler| sampler.reports().next().unwrap().appeared_lines;
    assert_eq!(reads(&sample(&mut sampler)), "loop01 sda1 sdb1 sdc1");
    write(&["sda", "sdc", "loop0"], 2);
    assert_eq!(reads(&sample(&mut sampler)), "loop02 sda2 sdc2");
    write(&["nvme0n1", "sdc", "sdx", "sdb", "sda"], 3);
    assert_eq!(reads(&sample(&mut sampler)), "sda3 sdb3 sdc3");
    assert_eq!(appeared(&sampler), 2);
    write(&["sda", "sdb", "sdc", "loop0"], 4);
    assert_eq!(reads(&sample(&mut sampler)), "loop04 sda4 sdb4 sdc4");
    assert_eq!(appeared(&sampler), 0);
    assert_eq!(sampler.series().len(), 4 * 11);
}

#[test]
fn an_idle_device_that_wakes_up_is_counted() {
    let tree = Tree::new("idle");
    let text = |writes: u64| format!("7 0 loop0 0 0 0 0 {writes} 0 0 0 0 0 0\n8 0 sda 1 2 3\n");
    tree.write(ProcSource::Diskstats, text(0).as_bytes());
    let mut sampler = ProcSampler::open(&tree.0, &every_tick()).unwrap();
    assert_eq!(sampler.series().len(), 3);
    assert_eq!(sample(&mut sampler).len(), 3);
    assert_eq!(sampler.reports().next().unwrap().appeared_lines, 0);
    tree.write(ProcSource::Diskstats, text(9).as_bytes());
    assert_eq!(sample(&mut sampler).len(), 3);
    assert_eq!(sampler.reports().next().unwrap().appeared_lines, 1);
}

#[test]
fn repeated_lines_count_once() {
    let tree = Tree::new("repeated");
    tree.write(ProcSource::Vmstat, b"pgfault 1\npgfault 2\nnr_dirty 3\n");
    let mut sampler = ProcSampler::open(&tree.0, &every_tick()).unwrap();
    assert_eq!(sampler.series().len(), 2);
    let values = sample(&mut sampler);
    assert_eq!((values["vm_pgfault"], values["vm_nr_dirty"]), (1, 3));
    assert_eq!(sampler.reports().next().unwrap().malformed_lines, 1);
}

#[test]
fn bad_numbers_cost_their_own_line_only() {
    let tree = Tree::new("numbers");
    tree.write(ProcSource::Vmstat, b"a 1\nb 2\nc 3\nd 4\n");
    tree.write(ProcSource::Meminfo, b"Dirty: 5 kB\nMemFree: 6 kB\n");
    let mut sampler = ProcSampler::open(&tree.0, &every_tick()).unwrap();
    sample(&mut sampler);
    tree.write(ProcSource::Vmstat, b"a 18446744073709551615\nb 99999999999999999999\nc\nd x\n");
    tree.write(ProcSource::Meminfo, b"Dirty: 9223372036854775807 kB\nMemFree: 7 kB\n");
    let values = sample(&mut sampler);
    // A counter that went below zero keeps its bits; kB that overflow give no value.
    assert_eq!(values, HashMap::from([("vm_a".into(), -1), ("mem_free_bytes".into(), 7 * 1024)]));
    let malformed: Vec<_> = sampler.reports().map(|report| report.malformed_lines).collect();
    assert_eq!(malformed, [3, 1]);
}

#[test]
fn a_text_that_outgrows_the_buffer_makes_it_grow_once() {
    let tree = Tree::new("growth");
    tree.write(ProcSource::Vmstat, b"pgfault 1\n");
    let mut sampler = ProcSampler::open(&tree.0, &every_tick()).unwrap();
    let mut text = b"pgfault 2\n".to_vec();
    text.extend((0..1000).flat_map(|index| format!("later_{index} 1\n").into_bytes()));
    tree.write(ProcSource::Vmstat, &text);
    for _ in 0..3 {
        assert_eq!(sample(&mut sampler), HashMap::from([("vm_pgfault".into(), 2)]));
    }
    let report = *sampler.reports().next().unwrap();
    assert_eq!((report.buffer_growths, report.appeared_lines), (1, 1000));
    assert_eq!(report.text_bytes, text.len());
}

#[test]
fn nothing_to_sample_is_an_error_that_says_why() {
    let tree = Tree::new("nothing");
    let error = ProcSampler::open(&tree.0, &every_tick()).unwrap_err().to_string();
    assert!(error.contains("diskstats (No such file"), "{error}");
    assert!(error.contains("expected a mounted proc file system"), "{error}");
    let error = ProcSampler::open(&tree.0, &ProcSelection::none()).unwrap_err().to_string();
    assert!(error.contains("select one"), "{error}");
    for source in ProcSource::ALL {
        tree.write(source, b"");
    }
    assert!(ProcSampler::open(&tree.0, &every_tick()).is_err());
}

#[test]
fn samples_this_machine_without_growing() {
    let mut sampler = ProcSampler::open(Path::new("/proc"), &every_tick()).unwrap();
    let first = sample(&mut sampler);
    for missing in sampler.missing() {
        println!("this machine has no {}: {}", missing.source.path(), missing.reason);
    }
    let mut out = Vec::with_capacity(sampler.series().len());
    let room = out.capacity();
    for _ in 0..200 {
        out.clear();
        assert!(sampler.sample(&mut out) > 20);
        assert_eq!(out.capacity(), room);
    }
    let last = sample(&mut sampler);
    for counter in ["context_switches", "cpu_all_user_ticks", "vm_pgfault", "processes_forked"] {
        assert!(last[counter] >= first[counter], "{counter}");
    }
    // Each sample reads anew: this process has read files since.
    assert!(last["context_switches"] > 0 && last["mem_total_bytes"] == first["mem_total_bytes"]);
    assert_eq!(sampler.reports().map(|report| report.malformed_lines).sum::<u64>(), 0);
    assert_eq!(sampler.reports().map(|report| report.buffer_growths).sum::<u64>(), 0);
}

fn learn(source: ProcSource, text: &[u8]) -> (Plan, Vec<SeriesSpec>) {
    let mut series = Vec::new();
    let plan = Plan::learn(source, text, false, &mut series, 500, &mut HashSet::new());
    (plan, series)
}

fn check(source: ProcSource, learned: &[u8], read: &[u8]) {
    let (mut plan, series) = learn(source, learned);
    assert!(series.len() <= 500);
    let names: HashSet<_> = series.iter().map(|series| &series.name).collect();
    assert_eq!(names.len(), series.len());
    for text in [learned, read, learned] {
        let mut out = Vec::new();
        plan.read(text, &mut out);
        let distinct: HashSet<_> = out.iter().map(|(series, _)| *series).collect();
        assert_eq!(distinct.len(), out.len());
        assert!(distinct.iter().all(|series| (*series as usize) < names.len()));
    }
}

#[test]
fn hostile_texts_are_read_without_panic() {
    let huge = [b"cpu0 ".to_vec(), vec![b'9'; 100_000]].concat();
    let lines = b"cpu0 1\n".repeat(5000);
    let many: Vec<u8> = (0..5000).flat_map(|i| format!("8 0 d{i} 1 2\n").into_bytes()).collect();
    let texts: [&[u8]; 8] =
        [b"", b"\n\n\n", b"\0\xff\xfe", b":", b"some total=", &huge, &lines, &many];
    for source in ProcSource::ALL {
        for learned in texts {
            for read in texts {
                check(source, learned, read);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(
        source in 0..ProcSource::ALL.len(),
        learned in prop::collection::vec(any::<u8>(), 0..400),
        read in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        check(ProcSource::ALL[source], &learned, &read);
    }

    #[test]
    fn damaged_texts_are_read_without_panic(
        source in 0..8_usize,
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
    ) {
        let source = ProcSource::ALL[source];
        let whole = fs::read(fixture("vm-6.18").join(source.path())).unwrap();
        let mut damaged = whole.clone();
        for (place, byte) in cuts {
            let place = place.index(damaged.len());
            damaged[place] = byte;
        }
        check(source, &whole, &damaged);
        check(source, &damaged, &whole);
    }
}
