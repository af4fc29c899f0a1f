//! Options that no source of a recording uses: whoever gives one means another source, or has left it out.
//!
//! What one option asks of another says the parser; here is what depends on the form of stdin. Held by
//! `a_mistake_says_what_is_wrong_and_what_to_do`.

use super::{Arguments, CHANNEL, FRAME_BYTES, Input};
use crate::size;

/// By the name of the option, with what it is for.
pub(super) fn fault(arguments: &Arguments) -> Option<(&'static str, &'static str)> {
    let lines = matches!(
        arguments.stdin,
        Some(Input::Csv | Input::Json | Input::Influx | Input::Prometheus)
    );
    let datagrams = !arguments.udp.is_empty() && arguments.udp_frames.is_none();
    if let Some(option) = arguments.text.given().filter(|_| !lines && !datagrams) {
        return Some((
            option,
            "a source of lines: --stdin csv, json, influx or prometheus, or --udp",
        ));
    }
    let csv = arguments.stdin == Some(Input::Csv) || datagrams;
    let json = arguments.stdin == Some(Input::Json) || datagrams;
    if let Some(unused) = arguments.text.unused(csv, json, false) {
        return Some(unused);
    }
    // Other programs may bring frames of any channel and size.
    if arguments.attach.is_some() {
        return None;
    }
    let frames = matches!(arguments.stdin, Some(Input::Raw | Input::Frames));
    if arguments.channel != CHANNEL && !frames {
        return Some(("channel", "a source of frames: --stdin raw or frames"));
    }
    let sized = arguments.generate || arguments.stdin == Some(Input::Raw);
    let usual = size::bytes(FRAME_BYTES).is_ok_and(|usual| usual == arguments.frame_bytes);
    (!usual && !sized).then_some(("frame-bytes", "frames of one size: --stdin raw, or --generate"))
}
