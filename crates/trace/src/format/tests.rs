//! Tests of the texts: those of a kernel, and any others.

use super::{EVENT_BYTES_MAX, EventFormat, EventHeader, FIELDS_MAX, PageHeader, Shape};
use proptest::prelude::*;

pub(crate) const SCHED_SWITCH: &str = "name: sched_switch
ID: 372
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;
\tfield:__rel_loc unsigned long[] cpus;\toffset:64;\tsize:4;\tsigned:0;
\tfield:const char * reason;\toffset:72;\tsize:8;\tsigned:0;
\tfield:char name[TASK_COMM_LEN];\toffset:80;\tsize:16;\tsigned:0;
\tfield:char buf[];\toffset:96;\tsize:0;\tsigned:0;

print fmt: \"prev_comm=%s\", REC->prev_comm
 and more: of it
";

pub(crate) const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
";

pub(crate) const EVENT: &str = "# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
";

#[test]
fn reads_what_a_kernel_says() {
    let format = EventFormat::parse(SCHED_SWITCH.as_bytes()).unwrap();
    assert_eq!((format.name.as_str(), format.id, format.fields.len()), ("sched_switch", 372, 11));
    let read = |name: &str| {
        let field = format.field(name).unwrap();
        (field.type_name.as_str(), field.offset_bytes, field.size_bytes, field.signed, field.shape)
    };
    assert_eq!(read("common_type"), ("unsigned short", 0, 2, false, Shape::Plain));
    assert_eq!(read("common_pid"), ("int", 4, 4, true, Shape::Plain));
    assert_eq!(read("prev_comm"), ("char", 8, 16, false, Shape::Array(Some(16))));
    assert_eq!(read("prev_state"), ("long", 32, 8, true, Shape::Plain));
    assert_eq!(read("cmd"), ("char", 60, 4, false, Shape::DataLoc));
    assert_eq!(read("cpus"), ("unsigned long", 64, 4, false, Shape::RelLoc));
    assert_eq!(read("reason"), ("const char *", 72, 8, false, Shape::Plain));
    assert_eq!(read("name"), ("char", 80, 16, false, Shape::Array(None)));
    assert_eq!(read("buf"), ("char", 96, 0, false, Shape::Array(None)));
    assert!(format.field("print").is_none());
}

#[test]
fn the_headers_of_a_kernel_are_read() {
    let page = PageHeader::parse(PAGE.as_bytes()).unwrap();
    assert_eq!(page.page_bytes(), 4096);
    assert_eq!((page.commit_offset_bytes, page.commit_bytes), (8, 8));
    assert_eq!((page.data_offset_bytes, page.data_bytes), (16, 4080));
    // A kernel of 32 bits.
    let narrow = PAGE
        .replace("commit;\toffset:8;\tsize:8", "commit;\toffset:8;\tsize:4")
        .replace("data;\toffset:16;\tsize:4080", "data;\toffset:12;\tsize:4084");
    let page = PageHeader::parse(narrow.as_bytes()).unwrap();
    assert_eq!((page.commit_bytes, page.data_offset_bytes, page.page_bytes()), (4, 12, 4096));
    let event = EventHeader::parse(EVENT.as_bytes()).unwrap();
    let expected =
        EventHeader { padding: 29, time_extend: 30, time_stamp: Some(31), data_words_max: 28 };
    assert_eq!(event, expected);
    let old = EVENT.replace("\ttime_stamp : type == 31\n", "");
    assert_eq!(EventHeader::parse(old.as_bytes()).unwrap().time_stamp, None);
}

#[test]
fn headers_that_cannot_be_are_refused() {
    for (from, to) in [
        ("timestamp;\toffset:0;\tsize:8", "timestamp;\toffset:0;\tsize:4"),
        ("commit;\toffset:8;", "commit;\toffset:4;"),
        ("commit;\toffset:8;", "commit;\toffset:16;"),
        ("commit;\toffset:8;\tsize:8", "commit;\toffset:8;\tsize:2"),
        ("size:4080", "size:65535"),
        ("size:4080", "size:8"),
        ("data;", "date;"),
        ("commit;", "comet;"),
    ] {
        assert!(PAGE.contains(from), "{from}");
        let refused = PageHeader::parse(PAGE.replace(from, to).as_bytes());
        assert!(refused.is_err(), "{from} {to} {refused:?}");
    }
    for (from, to) in [
        ("5 bits", "6 bits"),
        ("27 bits", "26 bits"),
        ("== 30", "== 29"),
        ("== 31", "== 32"),
        ("len  == 28", "len  == 29"),
        ("len  == 28", "len  == 0"),
        ("padding", "stuffing"),
    ] {
        assert!(EVENT.contains(from), "{from}");
        let refused = EventHeader::parse(EVENT.replace(from, to).as_bytes());
        assert!(refused.is_err(), "{from} {to} {refused:?}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (from, to, line, expected) in [
        ("ID: 372", "ID: 65536", 2, "65,536"),
        ("name: sched_switch", "name: a b", 1, "name"),
        ("offset:60;\tsize:4", "offset:60;\tsize:8", 11, "size:4"),
        ("offset:32;", "offset:x;", 10, "offset"),
        ("offset:32;", "offset:4294967295;", 10, "64 KiB"),
        ("prev_state", "common_pid", 10, "another name"),
        ("field:long prev_state", "field:long", 10, "type and a name"),
        ("format:", "form", 3, "field"),
        ("size:8;\tsigned:1", "size:8", 10, "signed"),
    ] {
        let text = SCHED_SWITCH.replacen(from, to, 1);
        assert_ne!(text, SCHED_SWITCH, "{from}");
        let error = EventFormat::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(&format!("line {line}:")) && error.contains(expected), "{error}");
    }
    let error = EventFormat::parse(b"name: a\n\xff").unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("UTF-8"), "{error}");
    let error = EventFormat::parse(b"name: a\n").unwrap_err().to_string();
    assert!(error.contains("ID"), "{error}");
    assert!(EventFormat::parse(&vec![b'\n'; 1 << 20]).is_err());
}

#[test]
fn the_number_of_fields_is_bounded() {
    let text = |fields: usize| {
        let mut text = "name: a\nID: 1\nformat:\n".to_owned();
        for field in 0..fields {
            text.push_str(&format!("\tfield:int f{field};\toffset:0;\tsize:4;\tsigned:1;\n"));
        }
        text
    };
    assert_eq!(EventFormat::parse(text(FIELDS_MAX).as_bytes()).unwrap().fields.len(), FIELDS_MAX);
    assert!(EventFormat::parse(text(FIELDS_MAX + 1).as_bytes()).is_err());
}

proptest! {
    #[test]
    fn any_text_is_an_error_or_within_limits(
        cuts in proptest::collection::vec((0_usize..1000, 0_usize..40, "[a-z0-9:;\\[\\] \n]{0,12}"), 1..5)
    ) {
        let mut text = SCHED_SWITCH.to_owned();
        for (at, length, put) in cuts {
            let at = at.min(text.len());
            let end = (at + length).min(text.len());
            text.replace_range(at..end, &put);
        }
        if let Ok(format) = EventFormat::parse(text.as_bytes()) {
            prop_assert!(format.fields.len() <= FIELDS_MAX);
            let limit = EVENT_BYTES_MAX as usize;
            prop_assert!(format.fields.iter().all(|field| field.end_bytes() <= limit));
        }
    }
}
