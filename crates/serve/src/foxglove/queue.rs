//! What waits for a client: its subscriptions, and the messages that it has not taken yet.
//!
//! Messages go out in the order in which they came. Where a client is slow, the oldest go, of the topic that holds
//! most: so a fast one takes nothing from a slow one. They are counted.
//!
//! Invariant: what waits is at most [`QUEUE_BYTES`], and each message is handed out or counted. Held by
//! `a_slow_client_has_the_newest_of_each_topic`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// Bytes that wait for one client at most: the largest record, or a second of quick topics.
pub(super) const QUEUE_BYTES: usize = 8 << 20;
/// What a message takes beside its payload, which others share.
const MESSAGE_BYTES: usize = 160;

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    channel: u32,
    /// Of whom it is.
    pub(super) subscription: u32,
    pub(super) time_ns: u64,
    pub(super) payload: Arc<[u8]>,
}

impl Waiting {
    fn bytes(&self) -> usize {
        self.payload.len() + MESSAGE_BYTES
    }
}

/// What waits of one channel.
#[derive(Debug)]
struct Share {
    subscription: u32,
    /// Of its messages, by their numbers.
    numbers: VecDeque<u64>,
    bytes: usize,
}

/// How much a channel holds, since when, and which one it is.
type Held = (usize, Reverse<u64>, u32);

impl Share {
    fn held(&self, channel: u32) -> Option<Held> {
        self.numbers.front().map(|oldest| (self.bytes, Reverse(*oldest), channel))
    }
}

/// Why there is no such subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// By another subscription.
    Id,
    /// The channel has one already.
    Channel,
}

/// Subscriptions and messages of a client.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: BTreeMap<u64, Waiting>,
    next: u64,
    bytes: usize,
    shares: HashMap<u32, Share>,
    /// The last one holds most, and of those that hold as much the oldest message.
    held: BTreeSet<Held>,
    /// Of each subscription.
    channels: HashMap<u32, u32>,
    dropped: u64,
}

impl Queue {
    /// Channels with a subscription.
    pub(super) fn channels(&self) -> impl Iterator<Item = u32> {
        self.shares.keys().copied()
    }

    pub(super) fn has_subscriptions(&self) -> bool {
        !self.shares.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Messages that went before they were taken.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn subscribe(&mut self, channel: u32, subscription: u32) -> Result<(), Taken> {
        if self.channels.contains_key(&subscription) {
            return Err(Taken::Id);
        }
        if self.shares.contains_key(&channel) {
            return Err(Taken::Channel);
        }
        self.shares.insert(channel, Share { subscription, numbers: VecDeque::new(), bytes: 0 });
        self.channels.insert(subscription, channel);
        Ok(())
    }

    /// Ends a subscription and takes back what waits of it; false if there is none.
    pub(super) fn unsubscribe(&mut self, subscription: u32) -> bool {
        let Some(channel) = self.channels.remove(&subscription) else { return false };
        let Some(share) = self.shares.remove(&channel) else { return false };
        if let Some(held) = share.held(channel) {
            self.held.remove(&held);
        }
        for number in &share.numbers {
            self.waiting.remove(number);
        }
        self.bytes -= share.bytes;
        true
    }

    /// Takes a message of a channel, if that has a subscription.
    pub(super) fn push(&mut self, channel: u32, time_ns: u64, payload: Arc<[u8]>) {
        let Some(share) = self.shares.get(&channel) else { return };
        let one = Waiting { channel, subscription: share.subscription, time_ns, payload };
        let bytes = one.bytes();
        if bytes > QUEUE_BYTES {
            self.dropped += 1;
            return;
        }
        let number = self.next;
        self.next += 1;
        self.change(channel, |share| {
            share.numbers.push_back(number);
            share.bytes += bytes;
        });
        self.waiting.insert(number, one);
        self.bytes += bytes;
        while self.bytes > QUEUE_BYTES
            && let Some((_, Reverse(oldest), _)) = self.held.last().copied()
            && self.take(oldest).is_some()
        {
            self.dropped += 1;
        }
    }

    /// The oldest message.
    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let oldest = self.waiting.keys().next().copied()?;
        self.take(oldest)
    }

    /// Takes a message out that is the oldest of its channel.
    fn take(&mut self, number: u64) -> Option<Waiting> {
        let one = self.waiting.remove(&number)?;
        let bytes = one.bytes();
        self.bytes -= bytes;
        self.change(one.channel, |share| {
            share.numbers.pop_front();
            share.bytes -= bytes;
        });
        Some(one)
    }

    fn change(&mut self, channel: u32, change: impl FnOnce(&mut Share)) {
        let Some(share) = self.shares.get_mut(&channel) else { return };
        if let Some(before) = share.held(channel) {
            self.held.remove(&before);
        }
        change(share);
        self.held.extend(share.held(channel));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(queue: &mut Queue) -> Vec<(u32, u64)> {
        std::iter::from_fn(|| queue.pop().map(|one| (one.subscription, one.time_ns))).collect()
    }

    #[test]
    fn a_slow_client_has_the_newest_of_each_topic() {
        let mut queue = Queue::default();
        queue.subscribe(7, 1).unwrap();
        queue.subscribe(8, 2).unwrap();
        let (small, large): (Arc<[u8]>, Arc<[u8]>) = ([0; 8].into(), vec![0; 1 << 20].into());
        queue.push(8, 0, Arc::clone(&small));
        for n in 1..100 {
            queue.push(7, n, Arc::clone(&large));
            assert!(queue.bytes <= QUEUE_BYTES);
        }
        queue.push(8, 100, Arc::clone(&small));
        // The slow one has lost nothing to the fast one.
        let mut expected: Vec<(u32, u64)> = (93..100).map(|n| (1, n)).collect();
        expected.insert(0, (2, 0));
        expected.push((2, 100));
        assert_eq!(all(&mut queue), expected);
        assert_eq!((queue.dropped(), queue.bytes, queue.held.len()), (92, 0, 0));
        // What is larger than all room is counted; what no subscription has is nothing.
        queue.push(7, 0, vec![0; QUEUE_BYTES].into());
        queue.push(9, 0, small);
        assert_eq!((queue.dropped(), queue.is_empty()), (93, true));
    }

    #[test]
    fn many_topics_that_hold_little_are_bounded_together() {
        let mut queue = Queue::default();
        let large: Arc<[u8]> = vec![0; 1 << 20].into();
        for channel in 0..100 {
            queue.subscribe(channel, channel).unwrap();
        }
        // All hold as much: the newest stay.
        for time_ns in 0..3 {
            for channel in 0..100 {
                queue.push(channel, time_ns, Arc::clone(&large));
                assert!(queue.bytes <= QUEUE_BYTES);
            }
        }
        let last: Vec<(u32, u64)> = (93..100).map(|channel| (channel, 2)).collect();
        assert_eq!((all(&mut queue), queue.dropped()), (last, 300 - 7));
    }

    #[test]
    fn a_subscription_is_one_of_its_id_and_its_channel() {
        let mut queue = Queue::default();
        queue.subscribe(7, 1).unwrap();
        assert_eq!(queue.subscribe(7, 2), Err(Taken::Channel));
        assert_eq!(queue.subscribe(8, 1), Err(Taken::Id));
        queue.push(7, 5, [0; 8].into());
        assert!(!queue.unsubscribe(2) && queue.unsubscribe(1) && !queue.unsubscribe(1));
        assert_eq!((queue.pop(), queue.bytes, queue.dropped()), (None, 0, 0));
        queue.subscribe(7, 1).unwrap();
        queue.push(7, 6, [0; 8].into());
        assert_eq!(all(&mut queue), [(1, 6)]);
    }
}
