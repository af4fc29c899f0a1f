//! What a program is told while it records, without asking: losses, complaints, trouble, pins.
//!
//! A thread of its own looks every 100 ms at what the recorder publishes anyway, and calls back. So no
//! push and no thread of the writer ever runs a program's code, and a program that records without a
//! callback pays nothing.
//!
//! Invariant: a callback is called from that thread alone, with no lock held; when it has been unset, or
//! the recorder was closed, none is running and none will. Held by `tests/events.rs`.

use crate::arguments::object;
use crate::error::{BARO_ENOMEM, Failure, Result, guard};
use crate::pins::state_of;
use crate::recorder::{baro_recorder, number_of};
use crate::structs::{
    BARO_EVENT_COMPLAINT, BARO_EVENT_LOST, BARO_EVENT_PIN, BARO_EVENT_TROUBLE, baro_event,
};
use ::baro_recorder::{Recorder, Trouble};
use baro_ondisk::PinState;
use baro_sys::queue::{RecvTimeoutError, Sender, channel};
use baro_sys::signals;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Called with each event. `event` and `text`, which is never null, are valid until it returns.
pub type baro_event_callback = Option<
    unsafe extern "C-unwind" fn(user: *mut c_void, event: *const baro_event, text: *const c_char),
>;

/// Short enough for people, long enough to cost nothing.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A device that takes longer makes nobody wait for the last look.
const LAST_LOOK_NS: u64 = 1_000_000_000;

thread_local! {
    /// This thread calls back for some recorder.
    static CALLS_BACK: Cell<bool> = const { Cell::new(false) };
}

/// The program's function and what it wants to be called with. Its type lets exceptions of C++ pass, so
/// that one is met at the end of the thread, which ends the process; where none may pass it would be
/// undefined.
#[derive(Clone, Copy, Debug)]
struct Call {
    function: unsafe extern "C-unwind" fn(*mut c_void, *const baro_event, *const c_char),
    user: *mut c_void,
}

// SAFETY: the header says that the function is called from another thread with this pointer.
unsafe impl Send for Call {}

/// The thread, which ends when the sender is gone.
#[derive(Debug)]
pub(crate) struct Listener {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Listener {
    fn start(recorder: Arc<Recorder>, call: Call) -> Result<Self> {
        let (end, ended) = channel();
        let mut known = Known::of(&recorder);
        let run = move || {
            CALLS_BACK.set(true);
            while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                known.tell_news(&recorder, call);
            }
            // What the writer has not published yet would be missing from the last look.
            let _ = recorder.flush(LAST_LOOK_NS);
            known.tell_news(&recorder, call);
        };
        let signals = signals::blocked();
        let thread = std::thread::Builder::new().name("baro-events".to_owned()).spawn(run);
        drop(signals);
        let failed = |error| Failure::new(BARO_ENOMEM, format!("start thread: {error}"));
        Ok(Listener { end, thread: thread.map_err(failed)? })
    }

    /// Looks once more and ends; waits for a call that is under way.
    fn end(self) {
        drop(self.end);
        // A callback in Rust may have panicked: then nothing is told any more.
        let _ = self.thread.join();
    }
}

/// What has been told.
#[derive(Debug)]
struct Known {
    lost: u64,
    trouble: Trouble,
    complaints: Vec<String>,
    pins: BTreeMap<u64, PinState>,
}

impl Known {
    /// Pins that are there already are no news; whatever has gone wrong is.
    fn of(recorder: &Recorder) -> Self {
        let pins = recorder.pins().iter().map(|pin| (pin.id, pin.state)).collect();
        Known { lost: 0, trouble: Trouble::None, complaints: Vec::new(), pins }
    }

    fn tell_news(&mut self, recorder: &Recorder, call: Call) {
        let lost = recorder.lost();
        if lost > self.lost {
            let (more, text) = (lost - self.lost, format!("{lost} records are lost so far"));
            self.lost = lost;
            call.event(baro_event { count: more, ..event(BARO_EVENT_LOST) }, &text);
        }
        let trouble = recorder.status().trouble;
        let state = number_of(&trouble);
        if state != number_of(&self.trouble) {
            let text = trouble.to_string();
            call.event(baro_event { state, ..event(BARO_EVENT_TROUBLE) }, &text);
        }
        self.trouble = trouble;
        let complaints = recorder.complaints();
        for complaint in complaints.iter().filter(|said| !self.complaints.contains(said)) {
            call.event(event(BARO_EVENT_COMPLAINT), complaint);
        }
        self.complaints = complaints;
        for pin in recorder.pins() {
            if self.pins.insert(pin.id, pin.state) != Some(pin.state) {
                let (id, state) = (pin.id, state_of(pin.state));
                call.event(baro_event { id, state, ..event(BARO_EVENT_PIN) }, &pin.name);
            }
        }
    }
}

fn event(kind: u32) -> baro_event {
    let type_size = size_of::<baro_event>() as u32;
    baro_event { type_size, kind, count: 0, id: 0, state: 0, reserved: 0 }
}

impl Call {
    fn event(self, event: baro_event, text: &str) {
        let bytes = text.bytes().map(|byte| if byte == 0 { b'?' } else { byte }).collect();
        let text = CString::new::<Vec<u8>>(bytes).unwrap_or_default();
        // SAFETY: the program's function, called as the header says; what is handed out lives longer.
        unsafe { (self.function)(self.user, &raw const event, text.as_ptr()) };
    }
}

/// Refused where it would wait for itself.
pub(crate) fn not_from_a_callback(call: &str) -> Result<()> {
    if !CALLS_BACK.get() {
        return Ok(());
    }
    let why = "expected any thread but one that calls back, found a callback of baro_on_event";
    Err(Failure::invalid(format!("{call}: {why}; call it when that has returned")))
}

/// Ends a recorder's callback; when this returns, none is running.
pub(crate) fn end(recorder: &baro_recorder) {
    let mut place = recorder.listener.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(listener) = place.take() {
        listener.end();
    }
}

/// From now on calls `callback` with `user` whenever records are lost, something goes wrong in the
/// background, the writer is in trouble or out of it, or a pin changes its state: see BARO_EVENT_...
/// What has gone wrong already is told first. Replaces the callback that was set before; null unsets
/// it. When this returns, and when baro_close does, the one before is not running and will not be
/// called again; news of the last moment is told before, for which it waits up to 1 s for the device.
///
/// It is called from a thread of the library's that does nothing else, up to 100 ms after the fact,
/// one call at a time; never from inside a push or any other call, and never by the writer, so that it
/// may take its time, and locks of the program's own. It may call everything with this recorder but
/// baro_on_event and baro_close, which would wait for themselves and return BARO_EINVAL. It must
/// return: no longjmp, no pthread_exit, no exception of C++ may leave it (that ends the process).
///
/// Returns 0, BARO_EINVAL, BARO_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_on_event(
    recorder: *const baro_recorder,
    callback: baro_event_callback,
    user: *mut c_void,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let recorder = unsafe { object(recorder, "recorder")? };
        not_from_a_callback("baro_on_event")?;
        let mut place = recorder.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = place.take() {
            before.end();
        }
        if let Some(function) = callback {
            let recorder = Arc::clone(&recorder.recorder);
            *place = Some(Listener::start(recorder, Call { function, user })?);
        }
        Ok(0)
    })
}
