//! Readers of foreign text and bytes take memory and steps in proportion to their input, whatever shape
//! it has: counted in bytes and allocations, never in time. docs/limits.md has the bounds; Parquet
//! files, timelines of traces and stores have tests of their own beside their readers.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "a test reads its fixtures")]

mod kernel;
mod network;
mod otlp;
mod settings;

use baro_ondisk::NameParser;
use baro_sources::csv::CsvParser;
use baro_sources::datagram;
use baro_sources::frames::LengthFramer;
use baro_sources::influx::InfluxParser;
use baro_sources::json::JsonParser;
use baro_sources::prometheus::PrometheusParser;
use baro_store::Selector;
use baro_sys::counters::{MeasuringAllocator, Memory, measured};
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: MeasuringAllocator = MeasuringAllocator;

/// Bytes of the inputs: to 10 MB where time is no matter.
fn sizes() -> &'static [usize] {
    let is_push = std::env::var("BARO_TEST_TIER").is_ok_and(|tier| tier == "push");
    if is_push { &[100_000, 1_000_000] } else { &[100_000, 1_000_000, 10_000_000] }
}

/// A read of at most 256 KiB at a time, as the command line has it.
const PIECE_BYTES: usize = 256 << 10;
/// What is allocated for any input at all.
const STEPS_MIN: i64 = 1_000;
const BYTES_MIN: i64 = 4 << 20;

/// Memory beside [`BASE_BYTES`], in bytes for each of the input.
const TIMES: i64 = 4;
const BASE_BYTES: i64 = 64 << 20;

fn check(what: &str, input: impl Fn(usize) -> Vec<u8>, read: impl Fn(&[u8])) {
    check_within(TIMES, what, input, read);
}

fn check_within(
    memory_times: i64,
    what: &str,
    input: impl Fn(usize) -> Vec<u8>,
    read: impl Fn(&[u8]),
) {
    let mut first: Option<(usize, Memory)> = None;
    for size in sizes() {
        let input = input(*size);
        let ((), took) = measured(|| read(&input));
        tell(what, first, (input.len(), took));
        let bound = BASE_BYTES + memory_times * input.len() as i64;
        assert!(took.peak_bytes <= bound, "{what}: {took:?} for {} bytes", input.len());
        let (least_size, least) = *first.get_or_insert((input.len(), took));
        let times = input.len() as f64 / least_size as f64 * 2.0;
        let linear = |now: i64, least: i64, from: i64| now as f64 <= least.max(from) as f64 * times;
        assert!(linear(took.count, least.count, STEPS_MIN), "{what}: {took:?} after {least:?}");
        assert!(
            linear(took.sum_bytes, least.sum_bytes, BYTES_MIN),
            "{what}: {took:?} after {least:?}"
        );
    }
}

/// One row for who looks (`--nocapture`): memory by bytes of input, and steps by those of the smallest, by size.
fn tell(what: &str, first: Option<(usize, Memory)>, (size, took): (usize, Memory)) {
    let (least_size, least) = first.unwrap_or((size, took));
    let times = size as f64 / least_size.max(1) as f64;
    let by = |now: i64, least: i64, from: i64| now as f64 / (least.max(from) as f64 * times);
    println!(
        "{what}\t{size}\t{}\t{:.3}\t{:.3}\t{:.3}",
        took.peak_bytes,
        took.peak_bytes as f64 / size.max(1) as f64,
        by(took.count, least.count, STEPS_MIN),
        by(took.sum_bytes, least.sum_bytes, BYTES_MIN)
    );
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn repeated_text(piece: &str, size: usize) -> String {
    piece.repeat(size.div_ceil(piece.len()))
}

fn repeated(piece: &str, size: usize) -> Vec<u8> {
    piece.repeat(size.div_ceil(piece.len())).into_bytes()
}

fn numbered(size: usize, line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut text = String::new();
    for number in 0.. {
        if text.len() >= size {
            break;
        }
        text += &line(number);
    }
    text.into_bytes()
}

type Shape = (&'static str, fn(usize) -> Vec<u8>);

/// Texts that are hard on one parser or another.
fn shapes() -> Vec<Shape> {
    vec![
        ("zeros", |size| vec![0; size]),
        ("one line of letters", |size| repeated("a", size)),
        ("empty lines", |size| repeated("\n", size)),
        ("quotes", |size| repeated("\"", size)),
        ("brackets", |size| repeated("{\"a\":[", size)),
        ("digits", |size| repeated("1", size)),
        ("backslashes", |size| repeated("\\", size)),
        ("csv", |size| numbered(size, |at| format!("{at},temp,{at}\n"))),
        ("csv of new names", |size| numbered(size, |at| format!("1,temp{at},1\n"))),
        ("csv of bad lines", |size| repeated("x,y\n", size)),
        ("csv of quoted names", |size| repeated("1,\"a\"\"b\"\"c\",1\n", size)),
        ("json", |size| numbered(size, |at| format!("{{\"time\":{at},\"s{at}\":1}}\n"))),
        ("json of one object", |size| {
            let members = String::from_utf8(numbered(size, |at| format!(",\"s{at}\":1"))).unwrap();
            format!("{{\"time\":1{members}}}\n").into_bytes()
        }),
        ("json of objects as long as may be", |size| {
            let one = String::from_utf8(numbered(900_000, |at| format!(",\"s{at}\":1"))).unwrap();
            repeated(&format!("{{\"time\":1{one}}}\n"), size)
        }),
        ("json of escapes", |size| repeated("{\"\\u00e4\\n\\u0041\":1}\n", size)),
        ("lines of many fields", |size| {
            let fields = String::from_utf8(numbered(size, |at| format!("f{at}=1,"))).unwrap();
            format!("m {}x=1 5\n", fields).into_bytes()
        }),
        ("lines of many tags", |size| {
            let tags = String::from_utf8(numbered(size, |at| format!(",t{at}=1"))).unwrap();
            format!("m{tags} x=1 5\n").into_bytes()
        }),
        ("lines of 60 KB with many tags and fields", |size| {
            let tags = String::from_utf8(numbered(20_000, |at| format!(",t{at}=1"))).unwrap();
            let fields = String::from_utf8(numbered(40_000, |at| format!("f{at}=1,"))).unwrap();
            repeated(&format!("m{tags} {fields}x=1 5\n"), size)
        }),
        ("line protocol", |size| numbered(size, |at| format!("m,a=b f=1,g=\"t\" {at}\n"))),
        ("prometheus", |size| numbered(size, |at| format!("m{{a=\"{at}\"}} {at} {at}000\n"))),
        ("prometheus of many labels", |size| {
            format!("m{{{}}} 1\n", text(numbered(size, |at| format!("l{at}=\"v\",")))).into_bytes()
        }),
        ("prometheus of labels before the metric", |size| {
            let labels = text(numbered(size.min(1_000_000), |at| format!("l{at}=\"v\",")));
            repeated(&format!("{{{labels}__name__=\"m\"}} 1\n"), size)
        }),
        ("prometheus of metrics again and again", |size| {
            format!("{{{}}} 1\n", repeated_text("__name__=\"m\",", size.min(1_000_000)))
                .into_bytes()
        }),
        ("prometheus of escapes", |size| repeated("m{a=\"\\\\\\n\\\"\"} 1\n", size)),
        ("prometheus of braces that do not end", |size| repeated("m{a=\"}\n", size)),
        ("prometheus of exemplars", |size| repeated("m 1 1 # {a=\"b\"} 1 1\n", size)),
        ("prometheus of comments", |size| repeated("# TYPE m gauge\n", size)),
        ("frames of nothing", |size| vec![0; size]),
        ("frames that lie", |size| repeated("\u{7f}\u{7f}\u{7f}\u{7f}", size)),
    ]
}

#[test]
fn texts_of_any_shape_are_read_in_proportion() {
    for (name, input) in shapes() {
        check(&format!("csv, {name}"), input, |bytes| {
            let mut parser = CsvParser::new();
            bytes.chunks(PIECE_BYTES).for_each(|piece| {
                parser.feed(piece, |item| {
                    let _ = black_box(item);
                })
            });
            parser.finish(|item| {
                let _ = black_box(item);
            });
        });
        check(&format!("json, {name}"), input, |bytes| {
            let mut parser = JsonParser::new();
            bytes.chunks(PIECE_BYTES).for_each(|piece| {
                parser.feed(piece, |item| {
                    let _ = black_box(item);
                })
            });
            parser.finish(|item| {
                let _ = black_box(item);
            });
        });
        check(&format!("influx, {name}"), input, |bytes| {
            let mut parser = InfluxParser::new(1_000);
            bytes.chunks(PIECE_BYTES).for_each(|piece| {
                parser.feed(piece, |item| {
                    let _ = black_box(item);
                })
            });
            parser.finish(|item| {
                let _ = black_box(item);
            });
        });
        check(&format!("prometheus, {name}"), input, |bytes| {
            let mut parser = PrometheusParser::default();
            bytes.chunks(PIECE_BYTES).for_each(|piece| {
                parser.feed(piece, |item| {
                    let _ = black_box(item);
                })
            });
            parser.finish(|item| {
                let _ = black_box(item);
            });
        });
        check(&format!("frames, {name}"), input, |bytes| {
            let mut framer = LengthFramer::new(64 << 10);
            bytes.chunks(PIECE_BYTES).for_each(|piece| {
                framer.feed(piece, |item| {
                    let _ = black_box(item);
                })
            });
            let _ = black_box(framer.finish());
        });
        check(&format!("datagrams, {name}"), input, |bytes| {
            for piece in bytes.chunks(60_000) {
                datagram::read(piece, |item| {
                    let _ = black_box(item);
                });
            }
        });
    }
}

#[test]
fn names_and_selectors_of_any_shape_are_read_in_proportion() {
    let selectors: [Shape; 6] = [
        ("labels", |size| {
            let labels = String::from_utf8(numbered(size, |at| format!("l{at}=\"v\","))).unwrap();
            format!("m{{{labels}}}").into_bytes()
        }),
        ("labels backwards", |size| {
            let labels = numbered(size, |at| format!("l{}=\"v\",", 9_999_999 - at));
            format!("m{{{}}}", String::from_utf8(labels).unwrap()).into_bytes()
        }),
        ("the same label", |size| [&b"m{"[..], &repeated("a=\"b\",", size), b"}"].concat()),
        ("alternatives", |size| [&b"m{a=~\""[..], &repeated("ab|", size), b"\"}"].concat()),
        ("groups", |size| [&b"m{a=~\""[..], &repeated("(", size), b"\"}"].concat()),
        ("repeats", |size| [&b"m{a=~\""[..], &repeated("(a{1,99}){1,99}", size), b"\"}"].concat()),
    ];
    for (name, input) in selectors {
        check(&format!("selector, {name}"), input, |bytes| {
            let text = std::str::from_utf8(bytes).unwrap();
            if let Ok(selector) = Selector::parse(text) {
                black_box(selector.matches(text));
            }
        });
        check(&format!("name, {name}"), input, |bytes| {
            let text = std::str::from_utf8(bytes).unwrap();
            black_box(NameParser::new().canonical(text).len());
        });
    }
    // A selector is asked of each name: hard ones in many short pieces.
    let hard = "m{a=~\"(x+x+)+y|(a|aa)+b|.*.*.*z\"}";
    check(
        "hard names",
        |size| repeated("m{a=\"xxxxxxxxxxxxxxxxxxxxxxxxaaaaaaaaaaaaaaaaa\"}\n", size),
        |bytes| {
            let selector = Selector::parse(hard).unwrap();
            for name in std::str::from_utf8(bytes).unwrap().lines() {
                assert!(!selector.matches(name));
            }
        },
    );
}
