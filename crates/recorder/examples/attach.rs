//! Pushes into the ring of a recorder that runs in another process:
//!
//!     cargo run -p baro-recorder --example attach -- RING CHANNEL [RECORDS]
//!
//! The recorder makes the ring (`Recorder::ring_for_attach`, `baro_ring_for_attach` in C) and tells
//! its path and the id of the channel. The ring is shared memory: what was pushed survives the
//! death of either process.

use baro_recorder::Producer;
use baro_sys::clock;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, ring, channel, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: attach RING CHANNEL [RECORDS]");
        std::process::exit(2);
    };
    let channel = channel.parse()?;
    let records: u64 = rest.first().map_or(Ok(1000), |text| text.parse())?;
    let mut producer = Producer::attach(Path::new(ring))?;
    for number in 0..records {
        producer.push_frame(channel, clock::realtime_ns(), &number.to_le_bytes())?;
    }
    // The recorder of the other process makes it durable; here it may be waited for.
    let deadline_ns = clock::monotonic_ns() + 5_000_000_000;
    while producer.durable() < producer.next_sequence() && clock::monotonic_ns() < deadline_ns {
        clock::sleep_ns(1_000_000);
    }
    println!("{} records, {} durable", producer.next_sequence(), producer.durable());
    Ok(())
}
