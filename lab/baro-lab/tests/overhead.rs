//! Pairs of runs with a tracer that only notes when it was called.

#![allow(clippy::disallowed_methods, reason = "tests look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use baro_bench::BenchError;
use baro_lab::overhead::{OverheadSpec, Recorded, Tracer, Workload, run};
use std::path::Path;
use std::sync::atomic::AtomicBool;

#[derive(Default)]
struct Noting {
    began_ns: Vec<u64>,
    windows_ns: Vec<(u64, u64)>,
}

impl Tracer for Noting {
    fn begin(&mut self) -> Result<(), BenchError> {
        self.began_ns.push(baro_sys::clock::monotonic_ns());
        Ok(())
    }

    fn time_kernel(&mut self) -> Result<bool, BenchError> {
        Ok(false)
    }

    fn kernel_ns(&self) -> u64 {
        0
    }

    fn cpu_ns(&self) -> u64 {
        self.windows_ns.len() as u64 * 10
    }

    fn end(&mut self, begin_ns: u64, end_ns: u64) -> Result<Recorded, BenchError> {
        self.windows_ns.push((begin_ns, end_ns));
        Ok(Recorded { events: 5, ..Recorded::default() })
    }
}

#[test]
fn files_are_made_and_pairs_alternate() {
    let needs = ["/dev/loop-control", "/sys/kernel/tracing/instances"];
    if let Some(missing) = needs.iter().find(|path| !Path::new(path).exists()) {
        println!("skipped: needs {missing}");
        return;
    }
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root's rights");
        return;
    }
    let built = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Root measures in no folder that others can change, as that of somebody's checkout.
    let above = match baro_bench::ground::held(built) {
        Ok(_) => built.to_owned(),
        Err(_) => std::env::temp_dir(),
    };
    let dir = above.join("overhead");
    std::fs::create_dir_all(&dir).unwrap();
    let stop = AtomicBool::new(false);
    for (workload, rounds) in [(Workload::Files1m(3), 2), (Workload::FilesEmpty(10_001), 1)] {
        let mut tracer = Noting::default();
        let report =
            run(OverheadSpec { workload, rounds, device_bytes_per_s: 0 }, &dir, &stop, &mut tracer)
                .unwrap();
        assert_eq!(report.pairs.len(), tracer.windows_ns.len());
        assert_eq!(report.pairs.len(), rounds as usize);
        for (pair, (begin_ns, end_ns)) in report.pairs.iter().zip(&tracer.windows_ns) {
            assert_eq!(pair.with_ns, end_ns - begin_ns);
            assert!(pair.without_ns > 0 && pair.recorded.events == 5);
        }
        // In the second pair the run without a recording comes last.
        if let (Some(pair), Some((_, end_ns))) = (report.pairs.get(1), tracer.windows_ns.get(1)) {
            assert!(baro_sys::clock::monotonic_ns() - end_ns >= pair.without_ns);
        }
        assert!(tracer.began_ns.iter().zip(&tracer.windows_ns).all(|(at, (begin, _))| at <= begin));
    }
    // One that was told to end is an error and no result.
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let spec = OverheadSpec { workload: Workload::Files1m(1), rounds: 1, device_bytes_per_s: 0 };
    let told = run(spec, &dir, &stop, &mut Noting::default()).unwrap_err().to_string();
    assert_eq!(told, "told to end");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
}
