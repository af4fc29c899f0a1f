//! What pins say of their windows, whoever records in the end.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options};
use baro_ondisk::{Pin, PinState, WhenFull};
use baro_recorder::{PinRequest, Recorder};
use baro_store::Store;

#[test]
fn a_window_within_which_a_recorder_ended_is_not_called_whole() {
    let folder = Folder::init("pin-left", 8, WhenFull::Recycle);
    let pin = || -> Pin { Store::open(&folder.0).unwrap().pins().next().unwrap().clone() };
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let request = PinRequest { after_ns: 50_000_000, ..PinRequest::default() };
    recorder.pin(&request).unwrap();
    assert_eq!(recorder.close().left, 0);
    assert_eq!((pin().state, pin().reason.as_str()), (PinState::Open, ""));
    std::thread::sleep(std::time::Duration::from_millis(60));
    for _ in 0..2 {
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        while pin().state == PinState::Open {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(recorder.close().left, 0);
        let Pin { state, reason, .. } = pin();
        assert_eq!(state, PinState::Short);
        assert_eq!(reason, "a recorder ended within it, and for a while nobody recorded");
    }
}
