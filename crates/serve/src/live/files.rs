//! The files of the page: in the program, each at an address of its own, with a tag of its bytes.
//!
//! A browser keeps them and asks whether the tag is still that: then nothing but heads goes over the wire.

use baro_net::{Request, Response};

struct File {
    address: &'static str,
    kind: &'static str,
    text: &'static str,
    tag: u64,
}

const fn file(address: &'static str, kind: &'static str, text: &'static str) -> File {
    File { address, kind, text, tag: fnv1a(text.as_bytes()) }
}

const SCRIPT: &str = concat!(
    include_str!("../page/view.js"),
    include_str!("../page/plot.js"),
    include_str!("../page/server.js"),
    include_str!("../page/page.js")
);

static FILES: [File; 4] = [
    file("/", "text/html; charset=utf-8", include_str!("../page/page.html")),
    file("/page/page.js", "text/javascript; charset=utf-8", SCRIPT),
    file("/page/page.css", "text/css; charset=utf-8", include_str!("../page/page.css")),
    file("/page/icon.svg", "image/svg+xml", include_str!("../page/icon.svg")),
];

/// FNV-1a: enough to tell versions of a file of ours apart.
const fn fnv1a(bytes: &[u8]) -> u64 {
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// The file at the request's address, if there is one.
pub(crate) fn file_of(request: &Request) -> Option<Response> {
    if request.method == "POST" {
        return None;
    }
    let found = FILES.iter().find(|file| file.address == request.path)?;
    let tag = format!("\"{:016x}\"", found.tag);
    let kept = request.header("If-None-Match").is_some_and(|tags| tags.contains(&tag));
    let response = match kept {
        true => Response::empty(304),
        false => Response::of(200, found.kind, found.text),
    };
    Some(response.with("ETag", tag))
}
