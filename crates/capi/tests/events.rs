//! Callbacks: what is told, to whom, from which thread; and that nothing is told any more when the
//! callback is unset or the recorder closed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unsafe_code)]

mod checked;
mod place;

use checked::*;
use place::{Place, last_error, opened};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::thread::ThreadId;

/// What a callback was told: event, text, thread.
#[derive(Default)]
struct Heard {
    events: Mutex<Vec<(baro_event, String, ThreadId)>>,
    /// What calls of the callback's own returned.
    codes: Mutex<Vec<i32>>,
    /// To be called from the callback.
    recorder: Mutex<usize>,
}

impl Heard {
    fn user(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    fn of(&self, kind: u32) -> Vec<(baro_event, String)> {
        let events = self.events.lock().unwrap();
        events.iter().filter(|e| e.0.kind == kind).map(|e| (e.0, e.1.clone())).collect()
    }

    fn wait(&self, what: impl Fn(&Self) -> bool) {
        let give_up_ns = baro_sys::clock::monotonic_ns() + 60_000_000_000;
        while !what(self) {
            assert!(baro_sys::clock::monotonic_ns() < give_up_ns, "waited in vain");
            baro_sys::clock::sleep_ns(1_000_000);
        }
    }
}

unsafe extern "C-unwind" fn hear(user: *mut c_void, event: *const baro_event, text: *const c_char) {
    // SAFETY: `user` is a Heard that lives longer; event and text are valid.
    let (heard, event, text) = unsafe {
        let text = CStr::from_ptr(text).to_str().unwrap().to_owned();
        (&*user.cast::<Heard>(), *event, text)
    };
    assert_eq!(event.type_size as usize, size_of::<baro_event>());
    // No handler of a signal runs here: SIGTERM is left to others.
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
    assert_eq!(u64::from_str_radix(mask.trim(), 16).unwrap() >> 14 & 1, 1);
    heard.events.lock().unwrap().push((event, text, std::thread::current().id()));
    let recorder = *heard.recorder.lock().unwrap() as *mut baro_recorder;
    if !recorder.is_null() {
        // SAFETY: the recorder is open, or what is asked of it is refused.
        let codes = unsafe {
            let mut status: baro_status = std::mem::zeroed();
            status.type_size = size_of::<baro_status>() as u32;
            [
                baro_on_event(recorder, None, null_mut()),
                baro_close(recorder, null_mut()),
                baro_status_get(recorder, &mut status),
                baro_flush(recorder, 60_000_000_000, null_mut()),
            ]
        };
        heard.codes.lock().unwrap().extend(codes);
    }
}

#[test]
fn losses_complaints_and_pins_are_told_from_a_thread_of_its_own() {
    let place = Place::recycling("events");
    let (recorder, producer) = opened(&place);
    let heard = Heard::default();
    let large = vec![0_u8; 100_000];
    // SAFETY: valid pointers.
    unsafe {
        let mut id = 0;
        assert_eq!(baro_declare(recorder, c"t".as_ptr(), null(), null(), null(), &mut id), 0);
        assert_eq!(baro_on_event(recorder, Some(hear), heard.user()), 0);
        let push =
            |bytes| baro_push_frame(producer, 1 << 20, 5, large.as_ptr().cast(), bytes, null_mut());
        assert_eq!((push(100_000), push(100_000), push(10)), (BARO_EMSGSIZE, BARO_EMSGSIZE, 0));
        let lost = |heard: &Heard| heard.of(BARO_EVENT_LOST).iter().map(|e| e.0.count).sum::<u64>();
        heard.wait(|heard| lost(heard) == 2);
        // One of another type than declared: lost, and complained about.
        assert_eq!(baro_push_integer(producer, id, 6, 1, null_mut()), 0);
        assert_eq!(baro_flush(recorder, 60_000_000_000, null_mut()), 0);
        heard.wait(|heard| lost(heard) == 3 && heard.of(BARO_EVENT_COMPLAINT).len() == 2);
        // The frame was of a channel that nobody has declared.
        let said = heard.of(BARO_EVENT_COMPLAINT);
        let is = |what: &str| said.iter().any(|(_, text)| text.contains(what));
        assert!(is("another type") && is("nobody has declared"), "{said:?}");
        let mut options: baro_pin_options = std::mem::zeroed();
        options.type_size = size_of::<baro_pin_options>() as u32;
        options.before_ns = 1_000_000_000;
        options.name[0] = b'p' as c_char;
        let mut pin = 0;
        assert_eq!(baro_pin(recorder, &options, &mut pin), 0, "{}", last_error());
        let told = |state| {
            move |heard: &Heard| {
                let pins = heard.of(BARO_EVENT_PIN);
                pins.iter().any(|(event, name)| {
                    (event.id, event.state, name.as_str()) == (pin, state, "p")
                })
            }
        };
        heard.wait(told(BARO_PIN_WHOLE));
        // Unset: what comes now is told to nobody.
        assert_eq!(baro_on_event(recorder, None, null_mut()), 0);
        let before = heard.events.lock().unwrap().len();
        assert_eq!(push(100_000), BARO_EMSGSIZE);
        baro_sys::clock::sleep_ns(300_000_000);
        assert_eq!(heard.events.lock().unwrap().len(), before);
        // Set again: what has gone wrong so far comes first, and news of the last moment before the end.
        let again = Heard::default();
        assert_eq!(baro_on_event(recorder, Some(hear), again.user()), 0);
        assert_eq!(push(100_000), BARO_EMSGSIZE);
        assert_eq!(baro_close(recorder, null_mut()), 0);
        let lost: u64 = again.of(BARO_EVENT_LOST).iter().map(|e| e.0.count).sum();
        assert_eq!((lost, again.of(BARO_EVENT_COMPLAINT).len()), (5, 2));
        assert!(again.of(BARO_EVENT_PIN).is_empty(), "it was there before");
        assert_eq!(baro_producer_close(producer), 0);
        let events = heard.events.lock().unwrap();
        let threads = events.iter().map(|event| event.2);
        let own = std::thread::current().id();
        assert!(threads.clone().all(|thread| thread == events[0].2 && thread != own));
    }
}

#[test]
fn a_callback_may_call_all_but_what_would_wait_for_itself() {
    let place = Place::new("events-inside");
    let (recorder, producer) = opened(&place);
    let heard = Heard::default();
    *heard.recorder.lock().unwrap() = recorder as usize;
    let large = vec![0_u8; 100_000];
    // SAFETY: valid pointers.
    unsafe {
        assert_eq!(baro_on_event(recorder, Some(hear), heard.user()), 0);
        let frame = large.as_ptr().cast();
        let code = baro_push_frame(producer, 1, 5, frame, large.len(), null_mut());
        assert_eq!(code, BARO_EMSGSIZE);
        heard.wait(|heard| heard.codes.lock().unwrap().len() >= 4);
        assert_eq!(heard.codes.lock().unwrap()[..4], [BARO_EINVAL, BARO_EINVAL, 0, 0]);
        // Replacing it from several threads at once ends each before the next.
        let address = recorder as usize;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let recorder = address as *const baro_recorder;
                    for round in 0..10 {
                        let callback: baro_event_callback = (round % 2 == 0).then_some(hear);
                        assert_eq!(baro_on_event(recorder, callback, heard.user()), 0);
                    }
                });
            }
        });
        assert_eq!(baro_close(recorder, null_mut()), 0);
        assert_eq!(baro_producer_close(producer), 0);
    }
}

#[test]
fn a_full_log_is_told_as_trouble() {
    let place = Place::new("events-trouble");
    let (recorder, producer) = opened(&place);
    let heard = Heard::default();
    let frame = vec![0_u8; 60_000];
    // SAFETY: valid pointers.
    unsafe {
        assert_eq!(baro_on_event(recorder, Some(hear), heard.user()), 0);
        let full = |heard: &Heard| {
            let _ = baro_push_frame(producer, 1, 5, frame.as_ptr().cast(), frame.len(), null_mut());
            let told = heard.of(BARO_EVENT_TROUBLE);
            told.iter().any(|(event, text)| {
                event.state == BARO_TROUBLE_LOG_FULL && text.contains("the log is full")
            })
        };
        heard.wait(full);
        assert_eq!(baro_close(recorder, null_mut()), 0);
        assert_eq!(baro_producer_close(producer), 0);
    }
}
