//! What a kernel and its tools have written: its log, recordings of blktrace, texts of blkparse, and trace
//! files, from a path.
#![allow(clippy::disallowed_methods, reason = "a test writes the files that are read")]

use crate::{Shape, TIMES, check, check_within, numbered, repeated};
use baro_ondisk::crc32c;
use baro_trace::blk::blktrace::Merged;
use baro_trace::blk::{Accounting, blkparse};
use baro_trace::explain::{Knowledge, Question, describe};
use baro_trace::file::{Item, Machine, Preamble, TraceFile, TraceWriter};
use baro_trace::hang::{describe as describe_log, log, to_json};
use baro_trace::record::Device;
use baro_trace::schema::Schemas;
use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;

const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

const EVENT: &str = "\ttype_len : 5 bits\n\ttime_delta : 27 bits\n\tarray : 32 bits
\tpadding : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31
\tdata max type_len == 28\n";

const SWITCH: &str = "name: sched_switch\nID: 372\nformat:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;

print fmt: \"%s\", REC->prev_comm\n";

#[test]
fn logs_of_any_shape_are_read_in_proportion() {
    let shapes: [Shape; 12] = [
        ("zeros", |size| vec![0; size]),
        ("one line", |size| repeated("a", size)),
        ("empty lines", |size| repeated("\n", size)),
        ("tasks of one number", |size| {
            repeated("[ 1.0] INFO: task a:7 blocked for more than 122 seconds.\n", size)
        }),
        ("tasks", |size| {
            numbered(size, |at| {
                format!("[ 1.0] INFO: task a:{at} blocked for more than 122 seconds.\n")
            })
        }),
        ("tasks of one number with other stacks", |size| {
            numbered(size, |at| {
                format!(
                    "[ 1.0] INFO: task a:7 blocked for more than {at} seconds.\n[ 1.0] Call Trace:\n\
                     [ 1.0]  f{at}+0x1/0x2\n[ 1.0]  schedule+0x1/0x2\n"
                )
            })
        }),
        ("one stack without end", |size| {
            let head =
                "[ 1.0] INFO: task a:7 blocked for more than 122 seconds.\n[ 1.0] Call Trace:\n";
            [head.as_bytes(), &*repeated("[ 1.0]  f+0x1/0x2\n", size)].concat()
        }),
        ("owners, then running tasks", |size| {
            let owners = numbered(size / 2, |at| {
                format!(
                    "[ 1.0] INFO: task a:{at} is blocked on a mutex likely owned by task b:{at}.\n"
                )
            });
            let tasks = numbered(size / 2, |at| {
                format!("[ 1.0] task:c state:R stack:0 pid:{at} ppid:1 flags:0x0\n")
            });
            [owners, tasks].concat()
        }),
        ("locks", |size| {
            let head = "[ 1.0] 3 locks held by a/7:\n";
            let lock = "[ 1.0]  #0: ffff888012345678 (l#3){.+.+}-{0:0}, at: f+0x65/0xe0\n";
            [head.as_bytes(), &*repeated(lock, size)].concat()
        }),
        ("holders", |size| numbered(size, |at| format!("[ 1.0] 3 locks held by a/{at}:\n"))),
        ("starts of a machine", |size| repeated("[ 0.0] Linux version 6.1\n", size)),
        ("prefixes", |size| repeated("<6>[ 1.0] ", size)),
    ];
    for (name, input) in shapes {
        check(&format!("kernel log, {name}"), input, |bytes| {
            let log = log::read(bytes).unwrap();
            black_box((describe_log(&log, 10), to_json(&log, 10)));
        });
    }
}

/// A record of blktrace, as `struct blk_io_trace` is.
fn record(number: u32, action: u32, sector: u64, pid: u32, more: u16) -> Vec<u8> {
    let mut bytes = 0x6561_7407_u32.to_le_bytes().to_vec();
    bytes.extend(number.to_le_bytes());
    bytes.extend(u64::from(number).to_le_bytes());
    bytes.extend(sector.to_le_bytes());
    bytes.extend(4096_u32.to_le_bytes());
    bytes.extend(action.to_le_bytes());
    bytes.extend(pid.to_le_bytes());
    bytes.extend((8_u32 << 20).to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(0_u16.to_le_bytes());
    bytes.extend(more.to_le_bytes());
    bytes
}

fn records(size: usize, one: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    (0..size.div_ceil(48) as u32).flat_map(one).collect()
}

/// Requests that are issued and never done: `BLK_TC_WRITE | BLK_TC_ISSUE` and `__BLK_TA_ISSUE`.
const ISSUE: u32 = (1 << 1 | 1 << 7) << 16 | 7;
const COMPLETE: u32 = (1 << 1 | 1 << 9) << 16 | 8;

#[test]
fn recordings_of_block_devices_of_any_shape_are_read_in_proportion() {
    let binary: [Shape; 8] = [
        ("zeros", |size| vec![0; size]),
        ("issued at one place", |size| records(size, |at| record(at, ISSUE, 8, 7, 0))),
        ("issued everywhere", |size| {
            records(size, |at| record(at, ISSUE, u64::from(at) * 8, 7, 0))
        }),
        ("issued at one place and done", |size| {
            records(size, |at| record(at, if at % 2 == 0 { ISSUE } else { COMPLETE }, 8, 7, 0))
        }),
        ("done and never issued", |size| records(size, |at| record(at, COMPLETE, 8, 7, 0))),
        ("of many processes", |size| records(size, |at| record(at, ISSUE, 8, at, 0))),
        ("of many devices", |size| {
            records(size, |at| {
                let mut bytes = record(at, ISSUE, 8, 7, 0);
                bytes[36..40].copy_from_slice(&at.to_le_bytes());
                bytes
            })
        }),
        ("with more than there is", |size| records(size, |at| record(at, ISSUE, 8, 7, u16::MAX))),
    ];
    for (name, input) in binary {
        check(&format!("blktrace, {name}"), input, |bytes| {
            let (one, two) = bytes.split_at(bytes.len() / 2);
            for files in [vec![bytes], vec![one, two], bytes.chunks(bytes.len() / 64).collect()] {
                let mut accounting = Accounting::default();
                Merged::new(files).for_each(|event| accounting.take(&event));
                for device in accounting.by_device().keys().take(3) {
                    black_box(accounting.by_process(*device));
                }
            }
        });
    }
    let texts: [Shape; 8] = [
        ("one line", |size| repeated("a", size)),
        ("words", |size| repeated("a ", size)),
        ("issued at one place", |size| {
            numbered(size, |at| format!("8,0 0 {at} {at}.000000000 7 D W 8 + 8 [a]\n"))
        }),
        ("issued everywhere", |size| {
            numbered(size, |at| format!("8,0 0 {at} {at}.000000000 7 D W {at} + 8 [a]\n"))
        }),
        ("of many processes", |size| {
            numbered(size, |at| format!("8,0 0 {at} {at}.000000000 {at} D W 8 + 8 [a{at}]\n"))
        }),
        ("of many devices", |size| {
            numbered(size, |at| {
                format!("{},{} 0 1 1.000000000 7 D W 8 + 8 [a]\n", at / 256, at % 256)
            })
        }),
        ("brackets", |size| repeated("8,0 0 1 1.000000000 7 D W 8 + 8 [[[[", size)),
        ("printed", |size| {
            repeated(
                "a-7 [000] ..... 1.000000: block_rq_issue: 8,0 W 4096 () 8 + 8 be,0,4 [a]\n",
                size,
            )
        }),
    ];
    for (name, input) in texts {
        check(&format!("blkparse, {name}"), input, |bytes| {
            let mut accounting = Accounting::default();
            let counts = blkparse::read(bytes, &mut accounting).unwrap();
            let is_of_events =
                ["issued", "of many", "printed"].iter().any(|one| name.starts_with(one));
            assert_eq!(is_of_events, counts.events > 0, "{name}: {counts:?}");
            for device in accounting.by_device().keys().take(3) {
                black_box(accounting.by_process(*device));
            }
        });
    }
}

fn preamble() -> Preamble {
    let machine =
        Machine { kernel: "6.1".to_owned(), clock: "mono".to_owned(), ..Machine::default() };
    let (header_page, header_event) = (PAGE.as_bytes().to_vec(), EVENT.as_bytes().to_vec());
    let formats = vec![("sched".to_owned(), SWITCH.as_bytes().to_vec())];
    Preamble { machine, header_page, header_event, formats }
}

type Writing = TraceWriter<Vec<u8>>;

/// A trace that `more` makes longer until it has a size.
fn trace(
    size: usize,
    mut more: impl FnMut(&mut Writing, usize) -> baro_trace::Result<()>,
) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), &preamble()).unwrap();
    for number in 0.. {
        if writer.bytes() >= size as u64 || more(&mut writer, number).is_err() {
            break;
        }
    }
    writer.finish(&[]).unwrap()
}

/// A page of entries that carry nothing.
fn page(time_ns: u64, entry: &[u8]) -> Vec<u8> {
    let data = entry.repeat(4_080 / entry.len());
    let mut page = time_ns.to_le_bytes().to_vec();
    page.extend((data.len() as u64).to_le_bytes());
    page.extend(data);
    page
}

const OF_EVER_NEW_TASKS: &str = "switches of ever new tasks";

/// A page on which each entry is a switch from a task to the next one; the same times on all of them.
fn switches(first: u32) -> Vec<u8> {
    let mut data = Vec::new();
    for number in 0..56 {
        let mut event = vec![0; 64];
        event[..2].copy_from_slice(&372_u16.to_le_bytes());
        event[24..28].copy_from_slice(&(first * 56 + number).to_le_bytes());
        event[32] = 2;
        event[56..60].copy_from_slice(&(first * 56 + number + 1).to_le_bytes());
        data.extend((16_u32 | 1_000 << 5).to_le_bytes());
        data.extend(event);
    }
    let mut page = u64::from(first).to_le_bytes().to_vec();
    page.extend((data.len() as u64).to_le_bytes());
    page.extend(data);
    page
}

/// Lengths of chunks that lie: the checksum of each head is as it should be.
fn lying(size: usize) -> Vec<u8> {
    let mut bytes = trace(0, |_, _| Ok(()));
    while bytes.len() < size {
        let offset = bytes.len();
        let mut head = [128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0];
        let crc = crc32c(crc32c(0, &(offset as u64).to_le_bytes()), &head[..12]);
        head[12..].copy_from_slice(&crc.to_le_bytes());
        bytes.extend(head);
    }
    bytes
}

#[test]
fn trace_files_of_any_shape_are_read_in_proportion() {
    let folder = std::env::temp_dir().join(format!("baro-bounds-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("trace");
    let shapes: [Shape; 14] = [
        ("zeros", |size| vec![0; size]),
        ("pages of one processor", |size| {
            trace(size, |writer, at| writer.page(0, &page(at as u64, &[1, 0, 0, 0, 0, 0, 0, 0])))
        }),
        ("pages of many processors", |size| {
            trace(size, |writer, at| {
                writer.page(at as u32 % 8_192, &page(at as u64, &[1, 0, 0, 0, 0, 0, 0, 0]))
            })
        }),
        ("short pages of many processors", |size| {
            trace(size, |writer, at| writer.page(at as u32 % 8_192, &[0; 16]))
        }),
        (OF_EVER_NEW_TASKS, |size| {
            trace(size, |writer, at| writer.page(at as u32 % 2, &switches(at as u32)))
        }),
        ("switches of one task", |size| {
            trace(size, |writer, at| writer.page(at as u32 % 2, &switches(0)))
        }),
        ("pages that are none", |size| trace(size, |writer, _| writer.page(0, &[255; 4_096]))),
        ("pages of padding", |size| {
            trace(size, |writer, at| writer.page(0, &page(at as u64, &[29, 0, 0, 0, 4, 0, 0, 0])))
        }),
        ("names of tasks", |size| {
            trace(size, |writer, at| {
                writer.tasks((0..100).map(|one| (at as i32 * 100 + one, &b"a"[..])))
            })
        }),
        ("names of one task", |size| {
            trace(size, |writer, _| writer.tasks((0..100).map(|_| (7, &b"a"[..]))))
        }),
        ("names of devices", |size| {
            trace(size, |writer, at| {
                writer.devices((0..100).map(|one| (Device(at as u32 * 100 + one), &b"a"[..])))
            })
        }),
        ("symbols", |size| {
            trace(size, |writer, at| {
                writer
                    .symbols((0..100).map(|one| (u64::MAX - at as u64 * 100 - one, u64::MAX, "f")))
            })
        }),
        ("facts", |size| trace(size, |writer, at| writer.fact(&format!("/{at}"), &[b'a'; 1_000]))),
        ("chunks that lie", lying),
    ];
    for (name, input) in shapes {
        // Written before it is measured: the reader is given a path.
        let written = |size| {
            let bytes = input(size);
            std::fs::write(&path, &bytes).unwrap();
            bytes
        };
        // A task costs more than the switch that tells of it, so this one has a bound of its own.
        let times = if name == OF_EVER_NEW_TASKS { 40 } else { TIMES };
        check_within(times, &format!("trace file, {name}"), written, |_| {
            let open = || TraceFile::open(BufReader::new(File::open(&path).unwrap()));
            let Ok(mut trace) = open() else { return };
            let schemas = Schemas::resolve(trace.events());
            let mut merged = trace.merge().unwrap();
            while let Some(item) = merged.next().unwrap() {
                if let (Item::Event { id, payload, .. }, Ok(schemas)) = (item, &schemas) {
                    let _ = black_box(schemas.decode(id, payload));
                }
            }
            let mut trace = open().unwrap();
            if let Ok(known) = Knowledge::of(&mut trace) {
                let found = known.explain(&Question { over_ns: 1_000, top: 5 });
                black_box(describe(&known, &found));
            }
        });
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
