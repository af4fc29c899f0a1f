//! Messages from thread to thread. [`std::sync::mpsc`] does the same with three implementations for
//! each type of message, which took 62 kB of the 1,087 kB that libbaro added to a static program on
//! armv7 (`cargo xtask boards` holds the bound of 1 MiB).
//!
//! Not for a thread that must not wait: a lock is held while one message is put or taken.
//!
//! Invariant: what is sent while somebody receives is received once, in the order of sending. Who
//! waits for an answer is told when nobody can give it any more, also if his question was not read.

use crate::clock;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    came: Condvar,
}

#[derive(Debug)]
struct State<T> {
    messages: VecDeque<T>,
    senders: usize,
    received: bool,
    /// Somebody sleeps until a message comes: only then the kernel is called.
    asleep: bool,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends. A clone sends into the same queue.
#[derive(Debug)]
pub struct Sender<T>(Arc<Shared<T>>);

/// Receives. There is one.
#[derive(Debug)]
pub struct Receiver<T>(Arc<Shared<T>>);

/// The other side is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// Why nothing was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// Nothing came in time.
    Timeout,
    /// Nothing will come: all senders are gone.
    Disconnected,
}

/// A queue of any length, and its two ends. Does not block.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state = State { messages: VecDeque::new(), senders: 1, received: true, asleep: false };
    let shared = Arc::new(Shared { state: Mutex::new(state), came: Condvar::new() });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    /// Puts a message into the queue. Does not wait for the receiver.
    ///
    /// # Errors
    /// The receiver is gone; the message is dropped.
    pub fn send(&self, message: T) -> Result<(), Gone> {
        let mut state = self.0.state();
        if !state.received {
            return Err(Gone);
        }
        state.messages.push_back(message);
        if std::mem::take(&mut state.asleep) {
            self.0.came.notify_one();
        }
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.state().senders += 1;
        Sender(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.senders -= 1;
        if state.senders == 0 && std::mem::take(&mut state.asleep) {
            self.0.came.notify_one();
        }
    }
}

impl<T> Receiver<T> {
    /// The next message, if there is one. Does not block.
    pub fn try_recv(&self) -> Option<T> {
        self.0.state().messages.pop_front()
    }

    /// Waits for the next message. Blocks until there is one.
    ///
    /// # Errors
    /// There is none, and all senders are gone.
    pub fn recv(&self) -> Result<T, Gone> {
        let mut state = self.0.state();
        loop {
            if let Some(message) = state.messages.pop_front() {
                return Ok(message);
            }
            if state.senders == 0 {
                return Err(Gone);
            }
            state.asleep = true;
            state = self.0.came.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The same, but blocks no longer than `time`.
    ///
    /// # Errors
    /// Nothing came in time, or all senders are gone.
    pub fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let until_ns = clock::monotonic_ns().saturating_add(time_ns);
        let mut state = self.0.state();
        loop {
            if let Some(message) = state.messages.pop_front() {
                return Ok(message);
            }
            if state.senders == 0 {
                return Err(RecvTimeoutError::Disconnected);
            }
            let left_ns = until_ns.saturating_sub(clock::monotonic_ns());
            if left_ns == 0 {
                return Err(RecvTimeoutError::Timeout);
            }
            state.asleep = true;
            let woken = self.0.came.wait_timeout(state, Duration::from_nanos(left_ns));
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.received = false;
        // Messages may be questions: who asked waits for their answer until they are gone.
        let left = std::mem::take(&mut state.messages);
        drop(state);
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(1);

    #[test]
    fn what_is_sent_is_received_once_and_in_order() {
        let (sender, receiver) = channel();
        let threads: Vec<_> = (0..3_u64)
            .map(|thread| {
                let sender = sender.clone();
                std::thread::spawn(move || {
                    (0..1_000).for_each(|number| sender.send((thread, number)).unwrap());
                })
            })
            .collect();
        drop(sender);
        let mut next = [0; 3];
        while let Ok((thread, number)) = receiver.recv() {
            assert_eq!(number, next[thread as usize]);
            next[thread as usize] += 1;
        }
        assert_eq!(next, [1_000; 3]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Disconnected));
    }

    #[test]
    fn who_waits_is_told_when_nothing_will_come() {
        let (sender, receiver) = channel::<u8>();
        assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
        assert_eq!(receiver.try_recv(), None);
        let waits = std::thread::spawn(move || receiver.recv());
        drop(sender);
        assert_eq!(waits.join().unwrap(), Err(Gone));
    }

    #[test]
    fn a_question_that_nobody_looks_at_has_its_answer_when_the_receiver_goes() {
        let (questions, queue) = channel();
        let (reply, answer) = channel::<u8>();
        questions.send(reply).unwrap();
        let asks = std::thread::spawn(move || answer.recv());
        drop(queue);
        assert_eq!(asks.join().unwrap(), Err(Gone));
        let (reply, answer) = channel::<u8>();
        assert_eq!(questions.send(reply), Err(Gone));
        assert_eq!(answer.recv(), Err(Gone));
    }

    #[test]
    fn times_beyond_any_clock_are_waited_for() {
        let (sender, receiver) = channel();
        let sends = std::thread::spawn(move || sender.send(7));
        assert_eq!(receiver.recv_timeout(Duration::MAX), Ok(7));
        sends.join().unwrap().unwrap();
    }
}
