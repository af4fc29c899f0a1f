//! A producer in a process of its own. First, in another terminal:
//!
//!     baro record STORE --init 1G --attach 1 --declare control:channel
//!
//! then `attach_by_store STORE control [RECORDS]`: finds a free ring by the store's path, pushes a
//! frame each millisecond, and says how far they are durable in the end. Killing either side loses
//! nothing that was pushed.

use baro_sys::clock;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, store, channel, rest @ ..] = arguments.as_slice() else {
        return Err("usage: attach_by_store STORE CHANNEL [RECORDS]".into());
    };
    let records: u64 = rest.first().map_or(Ok(1000), |text| text.parse())?;
    let (mut producer, catalog) = baro_recorder::attach(Path::new(store), None)?;
    let Some(id) = catalog.get(channel).map(|declared| declared.id) else {
        return Err(format!("{channel}: not declared in this store").into());
    };
    let mut pushed = 0;
    for number in 0..records {
        let frame = [number.to_le_bytes(), (number * number).to_le_bytes()].concat();
        // Never waits. What is refused is counted in the ring, and in the log as a gap.
        pushed += u64::from(producer.push_frame(id, clock::realtime_ns(), &frame).is_ok());
        clock::sleep_ns(1_000_000);
    }
    while producer.durable() < producer.next_sequence() && !producer.closed() {
        clock::sleep_ns(1_000_000);
    }
    println!("{pushed} of {records} pushed, durable up to {}", producer.durable());
    Ok(())
}
