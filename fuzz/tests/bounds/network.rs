//! What anybody may send over the network, and the file of tokens: heads and bodies of HTTP, remote write,
//! PromQL.

use crate::{PIECE_BYTES, Shape, check, numbered, repeated, text};
use baro_net::chunked::{Chunks, Next};
use baro_net::head;
use baro_net::tokens::Tokens;
use baro_promql::testing::Memory;
use baro_promql::{Query, Times};
use baro_sources::remote_write::{Version, read};
use std::hint::black_box;

#[allow(dead_code, reason = "the listener uses all of it")]
#[path = "../../../crates/listen/src/prometheus/unpack.rs"]
mod unpack;

/// As the listener has it.
const HEAD_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
const UNPACKED_BYTES_MAX: usize = 64 << 20;

/// A head in the pieces of a connection: its end is looked for from where it was not.
fn read_head(bytes: &[u8]) {
    let mut from = 0;
    for to in (0..bytes.len().min(HEAD_BYTES_MAX)).step_by(100) {
        match head::end(&bytes[..to], from) {
            Ok(Some(length)) => {
                let _ = black_box(head::parse(&bytes[..length], HEADERS_MAX));
                return;
            }
            Ok(None) => from = to,
            Err(_) => return,
        }
    }
}

/// Bytes of a chunked body, in pieces.
fn read_chunks(bytes: &[u8]) {
    let mut chunks = Chunks::default();
    for mut piece in bytes.chunks(PIECE_BYTES) {
        loop {
            match chunks.next(piece) {
                Ok(Next::Skip(count) | Next::Data(count)) => piece = &piece[count..],
                Ok(Next::More) => break,
                Ok(Next::End) | Err(_) => return,
            }
        }
    }
}

#[test]
fn heads_bodies_and_tokens_of_any_shape_are_read_in_proportion() {
    let heads: [Shape; 5] = [
        ("many headers", |size| {
            [b"GET / HTTP/1.1\r\nHost: a\r\n", &*numbered(size, |at| format!("h{at}: 1\r\n"))]
                .concat()
        }),
        ("one long header", |size| {
            [b"GET / HTTP/1.1\r\nHost: ", &*repeated("a", size), b"\r\n\r\n"].concat()
        }),
        ("a long query", |size| {
            let query = text(numbered(size, |at| format!("a{at}=%41+%4&")));
            format!("GET /?{query} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes()
        }),
        ("line ends", |size| repeated("\r", size)),
        ("folded lines", |size| {
            [b"GET / HTTP/1.1\r\nHost: a\r\n", &*repeated(" a\r\n", size)].concat()
        }),
    ];
    for (name, input) in heads {
        check(&format!("head, {name}"), input, read_head);
    }
    // Whoever has let more in: parsing by itself.
    check(
        "head without a limit",
        |size| {
            let query = text(numbered(size, |at| format!("a{at}=%41&")));
            format!("GET /?{query} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes()
        },
        |bytes| {
            let _ = black_box(head::parse(bytes, HEADERS_MAX));
        },
    );
    let bodies: [Shape; 5] = [
        ("single bytes", |size| repeated("1\r\na\r\n", size)),
        ("long sizes", |size| repeated("0", size)),
        ("extensions", |size| [b"1;", &*repeated("a=b;", size), b"\r\na\r\n"].concat()),
        ("trailers", |size| [b"0\r\n", &*repeated("X: y\r\n", size), b"\r\n"].concat()),
        ("sizes that lie", |size| repeated("ffffffff\r\n", size)),
    ];
    for (name, input) in bodies {
        check(&format!("chunked, {name}"), input, read_chunks);
    }
    let tokens: [Shape; 4] = [
        ("tokens", |size| {
            let hash = "0".repeat(64);
            numbered(size, |at| format!("{at:x}\tread\t{at}\t{hash}\tp\tname\n"))
        }),
        ("comments", |size| repeated("#\n", size)),
        ("fields", |size| repeated("\t", size)),
        ("a long line", |size| repeated("a", size)),
    ];
    for (name, input) in tokens {
        check(&format!("tokens, {name}"), input, |bytes| {
            let text = std::str::from_utf8(bytes).unwrap();
            if let Ok(tokens) = Tokens::parse(text) {
                assert!(tokens.find("baro_1").is_none());
            }
        });
    }
}

/// A field of bytes in protobuf.
pub(crate) fn field(number: u8, inner: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    varint(&mut bytes, inner.len());
    bytes.extend_from_slice(inner);
    bytes
}

fn varint(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn label(name: &str, value: &str) -> Vec<u8> {
    field(1, &[field(1, name.as_bytes()), field(2, value.as_bytes())].concat())
}

/// Repeats of what may depend on its number.
pub(crate) fn series(size: usize, one: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 0.. {
        if bytes.len() >= size {
            break;
        }
        bytes.extend(one(number));
    }
    bytes
}

/// Symbols, and series of version 2 that refer to them.
fn referring(size: usize, long: usize, places: &[u8]) -> Vec<u8> {
    let mut symbols = field(4, b"");
    symbols.extend(field(4, b"__name__"));
    symbols.extend(field(4, &vec![b'a'; long]));
    symbols.extend((0..250).flat_map(|at| field(4, format!("l{at}").as_bytes())));
    let one = field(5, &field(1, places));
    let count = size.saturating_sub(symbols.len()).div_ceil(one.len());
    [symbols, one.repeat(count)].concat()
}

#[test]
fn what_comes_over_the_network_is_read_in_proportion() {
    let messages: [Shape; 12] = [
        ("many series", |size| series(size, |at| field(1, &label("__name__", &format!("a{at}"))))),
        ("many labels", |size| {
            let labels = series(size, |at| label(&format!("l{at}"), "v"));
            field(1, &[label("__name__", "a"), labels].concat())
        }),
        ("series of 256 labels", |size| {
            let labels: Vec<u8> = (0..255).flat_map(|at| label(&format!("l{at}"), "v")).collect();
            field(1, &[label("__name__", "a"), labels].concat()).repeat(size / 3_000)
        }),
        ("long labels", |size| {
            let long = "\\".repeat(size / 4);
            field(1, &[label("__name__", &long), label(&long, &long)].concat())
        }),
        ("samples", |size| {
            let samples = field(2, b"\x10\x01").repeat(size / 4);
            field(1, &[label("__name__", "a"), samples].concat())
        }),
        ("fields of nobody", |size| repeated("\u{78}\u{1}", size)),
        ("fields within fields", |size| {
            let mut inner = Vec::new();
            while inner.len() < size.min(20_000) {
                inner = field(1, &inner);
            }
            inner.repeat(size / inner.len())
        }),
        ("symbols", |size| repeated("\u{22}\u{0}", size)),
        ("a long text that many refer to", |size| referring(size, size / 2, &[1, 2])),
        ("a long text that one refers to often", |size| {
            let places: Vec<u8> = (3..120).flat_map(|at| [at, 2]).collect();
            referring(size, size / 2, &[&[1, 3][..], &places].concat())
        }),
        ("many that refer to a name as long as may be", |size| {
            let places: Vec<u8> = (3..12).flat_map(|at| [at, 2]).collect();
            referring(size, 100, &[&[1, 3][..], &places].concat())
        }),
        ("numbers that do not end", |size| repeated("\u{7f}", size)),
    ];
    for (name, input) in messages {
        for version in [Version::One, Version::Two] {
            check(&format!("remote write {version:?}, {name}"), input, |bytes| {
                let _ = black_box(read::<()>(bytes, version, |_, series| {
                    if let Ok(series) = series {
                        assert!(series.name.len() < 10_000);
                        black_box(series.samples().count());
                    }
                    Ok(())
                }));
            });
        }
    }
    let blocks: [Shape; 4] = [
        ("of one byte", |size| {
            // A literal, then copies of it, 64 bytes each in three.
            let mut block = Vec::new();
            varint(&mut block, size / 3 * 64 + 1);
            block.extend([0, b'a']);
            block.extend([0xfe, 1, 0].repeat(size / 3));
            block
        }),
        ("that lies", |size| {
            let mut block = Vec::new();
            varint(&mut block, u32::MAX as usize);
            block.extend(vec![0; size]);
            block
        }),
        ("of literals", |size| {
            let mut block = Vec::new();
            varint(&mut block, size / 2);
            block.extend([0, b'a'].repeat(size / 2));
            block
        }),
        ("of nothing", |size| vec![0; size]),
    ];
    for (name, input) in blocks {
        check(&format!("snappy, {name}"), input, |bytes| {
            if unpack::unpacked_bytes(bytes, UNPACKED_BYTES_MAX).is_ok() {
                let _ = black_box(unpack::unpack(bytes));
            }
        });
    }
}

#[test]
fn queries_of_any_shape_are_read_in_proportion() {
    let mut memory = Memory::default();
    for point in 0..4_i64 {
        memory.push(&[("__name__", "a"), ("site", "x")], point * 15_000_000_000, 1.0);
    }
    let queries: [Shape; 12] = [
        ("parentheses", |size| repeated("(", size)),
        ("calls", |size| repeated("abs(", size)),
        ("braces", |size| repeated("a{", size)),
        ("brackets", |size| repeated("a[", size)),
        ("signs", |size| [&*repeated("-", size), b"1"].concat()),
        ("sums", |size| [&*repeated("1+", size), b"1"].concat()),
        ("powers", |size| [&*repeated("2^", size), b"1"].concat()),
        ("labels", |size| {
            format!("a{{{}}}", text(numbered(size, |at| format!("l{at}=\"v\",")))).into_bytes()
        }),
        ("a long text", |size| [b"\"", &*repeated("\\u00e9", size), b"\""].concat()),
        ("texts that do not end", |size| repeated("\"a", size)),
        ("comments", |size| repeated("#\n", size)),
        ("groups", |size| {
            format!("sum by ({}) (a)", text(numbered(size, |at| format!("l{at},")))).into_bytes()
        }),
    ];
    // A long one is refused by its length: as long as may be, as often as the size has it.
    for (name, input) in queries {
        check(&format!("PromQL, {name}"), input, |bytes| {
            assert!(Query::parse(std::str::from_utf8(bytes).unwrap()).is_err());
        });
        check(
            &format!("PromQL of 16 KiB, {name}"),
            |size| vec![0; size],
            |bytes| {
                for _ in 0..bytes.len() / 100_000 {
                    let query = input(16_000);
                    let Ok(query) = Query::parse(std::str::from_utf8(&query).unwrap()) else {
                        continue;
                    };
                    let _ = black_box(query.evaluate(&memory, &Times::at(30_000_000_000)));
                }
            },
        );
    }
}
