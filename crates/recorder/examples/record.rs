//! Records a frame of control data and two samples every 5 ms, as a control loop would:
//!
//!     cargo run --release -p baro-recorder --example record -- STORE [CYCLES]
//!
//! Makes the store if there is none. `examples/c/record.c` is the same in C.

use baro_log::{Error, Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{Options, Recorder};
use baro_sys::disk::Disk;
use baro_sys::{clock, identity};
use std::path::Path;

const CYCLE_NS: u64 = 5_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(store) = arguments.get(1).map(Path::new) else {
        eprintln!("usage: record STORE [CYCLES]");
        std::process::exit(2);
    };
    let cycles: u64 = arguments.get(2).map_or(Ok(1000), |text| text.parse())?;
    make(store)?;

    // A board's figures: 2.5 MiB of buffers; a ring that covers 5 s at 3.2 MB/s.
    let options = Options {
        ring_bytes: 16 << 20,
        record_bytes_max: 64 << 10,
        block_bytes: 256 << 10,
        fifo: Some(50),
        ..Options::default()
    };
    let recorder = Recorder::open(store, options)?;
    recorder.opening().reservations().iter().for_each(|said| eprintln!("here: {said}"));

    // Declaring waits for the disk once; ids are for pushes.
    let wanted = [
        ("control", Type::Channel, ""),
        ("position{axis=\"x\"}", Type::F64, "mm"),
        ("position{axis=\"y\"}", Type::F64, "mm"),
    ];
    let ids = recorder.declare(&wanted)?;
    let [control, series @ ..] = ids.as_slice() else { return Ok(()) };

    let mut producer = recorder.producer()?;
    let mut frame = vec![0; 16384];
    let mut refused = 0_u64;
    let mut next_ns = clock::monotonic_ns();
    for cycle in 0..cycles {
        let now_ns = clock::realtime_ns();
        frame.fill(cycle as u8);
        refused += u64::from(producer.push_frame(*control, now_ns, &frame).is_err());
        let position = [cycle as f64, -(cycle as f64)];
        refused += u64::from(producer.push_samples(now_ns, series, &position).is_err());
        next_ns += CYCLE_NS;
        clock::sleep_until_ns(next_ns);
    }

    // Only now, outside of the loop, may anything wait.
    let records = producer.next_sequence();
    recorder.wait_durable(&producer, records, 60_000_000_000);
    let durable = producer.durable();
    drop(producer);
    let closed = recorder.close();
    println!("records {records} refused {refused} durable {durable} left {}", closed.left);
    Ok(())
}

fn make(store: &Path) -> Result<(), Error> {
    let geometry = Geometry::for_log(256 << 20, WhenFull::Recycle)?;
    let mut id = StoreId::default();
    identity::random(&mut id.0)?;
    match init(&Disk::create(store)?, store, id, clock::realtime_ns(), &geometry, |_| {}) {
        Ok(_) | Err(Error::Exists { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
