//! What comes from outside while recording: rings that other processes write to, lines of CSV and
//! JSON, frames with their length, datagrams.

use crate::Target;
use baro_ondisk::crc32c;
use baro_recorder::inspect::inspect_ring;
use baro_sources::csv::CsvParser;
use baro_sources::datagram;
use baro_sources::frames::LengthFramer;
use baro_sources::influx::InfluxParser;
use baro_sources::json::JsonParser;
use baro_sources::prometheus::PrometheusParser;
use baro_sys::memory::SharedMemory;

/// The smallest ring: one header unit and 64 KiB.
const RING_BYTES: usize = 4096 + (64 << 10);

pub(crate) const RING: Target = Target {
    name: "ring",
    fuzz_one: ring,
    seeds: || vec![ring_seed(0), ring_seed(60_000)],
    fix_up: ring_fix_up,
};

pub(crate) const CSV: Target = Target {
    name: "csv",
    fuzz_one: csv,
    seeds: || vec![CSV_SEED.as_bytes().to_vec(), ANNOTATED_SEED.as_bytes().to_vec()],
    fix_up: |_| {},
};

pub(crate) const JSON: Target = Target {
    name: "json",
    fuzz_one: json,
    seeds: || vec![JSON_SEED.as_bytes().to_vec()],
    fix_up: |_| {},
};

pub(crate) const INFLUX: Target = Target {
    name: "influx",
    fuzz_one: influx,
    seeds: || vec![INFLUX_SEED.as_bytes().to_vec()],
    fix_up: |_| {},
};

pub(crate) const PROMETHEUS: Target = Target {
    name: "prometheus",
    fuzz_one: prometheus,
    seeds: || vec![PROMETHEUS_SEED.as_bytes().to_vec()],
    fix_up: |_| {},
};

pub(crate) const FRAMES: Target =
    Target { name: "frames", fuzz_one: frames, seeds: || vec![frames_seed()], fix_up: |_| {} };

pub(crate) const UDP: Target = Target {
    name: "udp",
    fuzz_one: udp,
    seeds: || vec![JSON_SEED.as_bytes().to_vec(), CSV_SEED.as_bytes().to_vec()],
    fix_up: |_| {},
};

/// Frames larger than this are passed over.
const FRAME_BYTES_MAX: usize = 500;

const ANNOTATED_SEED: &str = "#datatype,string,long,dateTime:RFC3339,double,string,string,string\r\n\
                              #group,false,false,false,false,true,true,true\r\n#default,_result,,,,,,\r\n\
                              ,result,table,_time,_value,_field,_measurement,host\r\n\
                              ,,0,2026-11-21T21:03:49Z,1.5,f,m,\"a,b\"\r\n\r\n,error,reference\r\n,x,1\r\n";

const PROMETHEUS_SEED: &str = "# TYPE up gauge\nup{job=\"a\",x=\"b\\n}\"} 1 1700000000.123\n\
                               {\"my metric\"} +Inf 1700000000123 # {trace=\"x\"} 0.5 1.5\nn NaN\n# EOF\n";

const JSON_SEED: &str = "{\"time\":1700000000.123456789,\"series\":\"temp\",\"value\":21.5}\n{\"time\":\
                         \"2026-11-21T21:03:49Z\",\"a\":1,\"b\\u00e4\":true,\"c\":null}\r\n\n{\"x\":-3e5}";

const INFLUX_SEED: &str = "weather,site=a,line=3\\ b temp=21.5,raining=f,n=3i,u=4u,note=\"a \\\"b\\\" c\" \
                           1700000000000000000\n# note\n\nm f=-1e-3\r\nm\\,x,\\=k=v f\\ 1=t -5";

const CSV_SEED: &str = "time,series,value\n1700000000000000000,temp,21.5\n1700000000.5,\"a{b=\"\"c\
                        \"\"}\",-3\n2026-11-21T21:03:49.123Z,on,true\r\n,now,nan\n# note\n\n";

fn ring(bytes: &[u8]) {
    let Ok(memory) = SharedMemory::private(RING_BYTES) else { return };
    memory.write(0, bytes.get(..RING_BYTES).unwrap_or(bytes));
    if let Ok(contents) = inspect_ring(memory, None) {
        assert!(contents.records <= 64 << 10, "more records than a ring can hold");
        assert!(contents.payload_bytes <= 64 << 10, "more bytes than a ring can hold");
    }
}

/// A valid ring with three records (the format's offsets, from `docs/format.md`), whose first
/// starts at `tail`, so that one of the two seeds goes around the end.
fn ring_seed(tail: u64) -> Vec<u8> {
    let mut bytes = vec![0; RING_BYTES];
    bytes[..8].copy_from_slice(b"BARORNG1");
    bytes[8..12].copy_from_slice(&1_u32.to_le_bytes());
    bytes[32..40].copy_from_slice(&77_u64.to_le_bytes());
    bytes[40..48].copy_from_slice(&(64_u64 << 10).to_le_bytes());
    bytes[48..52].copy_from_slice(&10_000_u32.to_le_bytes());
    let mut head = tail;
    for (sequence, length) in [(5_u64, 100_u32), (6, 3_000), (9, 4_000)] {
        let mut record = (length | 1 << 28).to_le_bytes().to_vec();
        record.extend(3_u32.to_le_bytes());
        record.extend(sequence.to_le_bytes());
        record.extend(1_700_000_000_000_000_000_i64.to_le_bytes());
        record.resize((24 + length as usize).next_multiple_of(8), 0xab);
        for byte in record {
            bytes[4096 + (head % (64 << 10)) as usize] = byte;
            head += 1;
        }
    }
    for (offset, value) in [(128, head), (136, 11), (144, 2), (256, tail), (264, 5), (272, 5)] {
        bytes[offset..offset + 8].copy_from_slice(&u64::to_le_bytes(value));
    }
    ring_fix_up(&mut bytes);
    bytes
}

fn ring_fix_up(bytes: &mut [u8]) {
    if bytes.len() >= 64 {
        bytes[12..16].fill(0);
        let crc = crc32c(0, &bytes[..64]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    }
}

fn csv(bytes: &[u8]) {
    let collect = |pieces: &[&[u8]]| {
        let mut parser = CsvParser::new();
        let mut items = Vec::new();
        for piece in pieces {
            parser.feed(piece, |item| items.push(format!("{item:?}")));
        }
        parser.finish(|item| items.push(format!("{item:?}")));
        items
    };
    let (a, b) = bytes.split_at(bytes.len() / 2);
    assert_eq!(collect(&[bytes]), collect(&[a, b]), "the cut changes the result");
}

fn json(bytes: &[u8]) {
    let collect = |pieces: &[&[u8]]| {
        let mut parser = JsonParser::new();
        let mut items = Vec::new();
        for piece in pieces {
            parser.feed(piece, |item| items.push(format!("{item:?}")));
        }
        parser.finish(|item| items.push(format!("{item:?}")));
        items
    };
    let (a, b) = bytes.split_at(bytes.len() / 2);
    let whole = collect(&[bytes]);
    assert!(whole.len() <= bytes.len(), "more items than bytes");
    assert_eq!(whole, collect(&[a, b]), "the cut changes the result");
}

fn influx(bytes: &[u8]) {
    let collect = |pieces: &[&[u8]]| {
        let mut parser = InfluxParser::new(1_000);
        let mut items = Vec::new();
        let mut take = |item: Result<_, baro_sources::influx::InfluxError>| {
            if let Err(error) = &item {
                assert!(error.to_string().len() < 1000, "an error quotes too much");
            }
            items.push(format!("{item:?}"));
        };
        pieces.iter().for_each(|piece| parser.feed(piece, |item| take(item.map(drop_line))));
        parser.finish(|item| take(item.map(drop_line)));
        items
    };
    let (a, b) = bytes.split_at(bytes.len() / 2);
    let whole = collect(&[bytes]);
    assert!(whole.len() <= bytes.len(), "more items than bytes");
    assert_eq!(whole, collect(&[a, b]), "the cut changes the result");
}

fn prometheus(bytes: &[u8]) {
    let collect = |pieces: &[&[u8]]| {
        let mut parser = PrometheusParser::default();
        let mut items = Vec::new();
        let mut take = |item: Result<baro_sources::Sample<'_>, _>| {
            let item: Result<String, baro_sources::prometheus::PrometheusError> =
                item.map(|sample| format!("{sample:?}"));
            if let Err(error) = &item {
                assert!(error.to_string().len() < 1000, "an error quotes too much");
            }
            items.push(format!("{item:?}"));
        };
        pieces.iter().for_each(|piece| parser.feed(piece, &mut take));
        parser.finish(&mut take);
        (items, parser.exemplars())
    };
    let (a, b) = bytes.split_at(bytes.len() / 2);
    let whole = collect(&[bytes]);
    assert!(whole.0.len() <= bytes.len(), "more items than bytes");
    assert_eq!(whole, collect(&[a, b]), "the cut changes the result");
    let _ = baro_sources::prometheus::is_prometheus(&String::from_utf8_lossy(bytes));
}

/// A sample that outlives the parser's buffer.
fn drop_line(sample: baro_sources::influx::InfluxSample<'_>) -> String {
    assert!(!sample.series.is_empty());
    format!("{sample:?}")
}

fn frames(bytes: &[u8]) {
    let collect = |pieces: &[&[u8]]| {
        let mut framer = LengthFramer::new(FRAME_BYTES_MAX);
        let (mut items, mut total) = (Vec::new(), 0);
        for piece in pieces {
            framer.feed(piece, |item| {
                total += item.map_or(0, <[u8]>::len);
                items.push(format!("{item:?}"));
            });
        }
        items.push(format!("{:?}", framer.finish()));
        assert!(total <= bytes.len(), "more bytes out than in");
        items
    };
    let (a, b) = bytes.split_at(bytes.len() / 3);
    assert_eq!(collect(&[bytes]), collect(&[a, b]), "the cut changes the result");
}

/// Three frames, one of them too large.
fn frames_seed() -> Vec<u8> {
    let frame = |bytes: usize| {
        let length = (bytes as u32).to_le_bytes();
        length.into_iter().chain(std::iter::repeat_n(0x61, bytes)).collect::<Vec<u8>>()
    };
    [frame(5), frame(FRAME_BYTES_MAX + 1), frame(0), frame(40)].concat()
}

fn udp(bytes: &[u8]) {
    let (mut samples, mut errors) = (0, 0);
    datagram::read(bytes, |item| match item {
        Ok(sample) => {
            assert!(!sample.series.is_empty());
            samples += 1;
        }
        Err(error) => {
            assert!(error.to_string().len() < 1000, "an error quotes too much");
            errors += 1;
        }
    });
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    assert!(errors <= lines && samples <= bytes.len(), "more items than lines");
}
