//! One thread follows the log while somebody is connected, and puts messages into the queues of those who
//! subscribed.
//!
//! It rests as long as a look takes, and a tenth of a second at least: it never takes more than half of a
//! processor. While nobody is connected it does nothing and holds nothing.

use super::Foxglove;
use super::client::Client;
use super::told::Notice;
use super::topics::{self, NOTES, channel_of, key_of};
use baro_messages::{Key, Message, Messages, note};
use baro_ondisk::{Gap, Kind};
use baro_store::{Follow, Notes, RecordRef, Selection, Store};
use baro_sys::clock;
use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Between two looks.
const LOOK_NS: u64 = 100_000_000;
/// A look that takes long is followed by a rest of so long at most.
const REST_NS: u64 = 1_000_000_000;
/// New series that one look tells a client of; the others follow.
const NEW_MAX: u32 = 4_096;
/// Notices have these ids.
const STORE: &str = "store";
const MISSING: &str = "missing";
const LEFT_OUT: &str = "left-out";

/// The log while it is followed.
struct Following {
    store: Store,
    place: Follow,
    messages: Messages<Rc<Selection>>,
    selection: Rc<Selection>,
    to: To,
    /// The change of clients for which that was made; `None`: for none.
    changes: Option<u64>,
    /// Blocks that were gone before they were read, and damage, so far.
    recycled: u64,
    damage: u64,
}

/// Who has subscribed to what.
type To = HashMap<Key, Vec<Arc<Client>>>;

impl Foxglove {
    /// Follows the log for clients until `stop`.
    pub(crate) fn follow(&self, stop: &AtomicBool) {
        let mut following: Option<Following> = None;
        while !stop.load(Relaxed) {
            let (clients, changes) = self.clients.all(LOOK_NS);
            if clients.is_empty() {
                following = None;
                continue;
            }
            let begun_ns = clock::monotonic_ns();
            if let Err(error) = look(&mut following, &self.path, &clients, changes) {
                following = None;
                let message = format!("the store cannot be read, and is tried again: {error}");
                tell_all(&clients, &Notice::error(STORE, message));
            }
            clients.iter().for_each(|client| client.wake());
            let took_ns = clock::monotonic_ns().saturating_sub(begun_ns);
            clock::sleep_ns(LOOK_NS.saturating_sub(took_ns).max(took_ns.min(REST_NS)));
        }
    }
}

fn tell_all(clients: &[Arc<Client>], notice: &Notice) {
    clients.iter().for_each(|client| client.lock().tell(notice.clone()));
}

fn look(
    following: &mut Option<Following>,
    path: &Path,
    clients: &[Arc<Client>],
    changes: u64,
) -> baro_store::Result<()> {
    let one = match following {
        Some(one) => one,
        None => following.insert(Following::begin(path)?),
    };
    one.store.refresh()?;
    clients.iter().try_for_each(|client| one.advertise(client))?;
    if one.changes != Some(changes) {
        one.choose(clients)?;
        one.changes = Some(changes);
    }
    if one.to.is_empty() {
        one.place = one.store.end()?;
        return Ok(());
    }
    let notes = one.read()?;
    one.tell_missing(&notes, clients);
    Ok(())
}

impl Following {
    fn begin(path: &Path) -> baro_store::Result<Self> {
        let store = Store::open(path)?;
        let (place, selection) = (store.end()?, Rc::new(Selection::of_ids(store.catalog(), &[])?));
        Ok(Following {
            store,
            place,
            messages: Messages::new(Rc::clone(&selection)),
            selection,
            to: To::new(),
            changes: None,
            recycled: 0,
            damage: 0,
        })
    }

    /// Tells a client of series that are new.
    fn advertise(&self, client: &Client) -> baro_store::Result<()> {
        let catalog = self.store.catalog();
        let highest = catalog.highest_id();
        let Some(known) = client.lock().topics.as_ref().map(|topics| topics.known) else {
            return Ok(());
        };
        if known >= highest {
            return Ok(());
        }
        let last = highest.min(known.saturating_add(NEW_MAX));
        // Looked up while the client is not locked: that reads the disk.
        let mut new = Vec::new();
        for id in known + 1..=last {
            new.extend(catalog.get(id)?);
        }
        let mut state = client.lock();
        let Some(topics) = &mut state.topics else { return Ok(()) };
        let (mut told, before) = (Vec::new(), topics.left_out());
        new.iter().for_each(|declared| topics.offer(&declared.declaration(), &mut told));
        topics.known = last;
        let left_out = topics.left_out_text().filter(|_| topics.left_out() > before);
        if let Some(message) = left_out {
            state.tell(Notice::warning(LEFT_OUT, message));
        }
        if !told.is_empty() {
            state.texts.extend(topics::texts(&told));
        }
        Ok(())
    }

    /// What any client subscribed to, and who did.
    fn choose(&mut self, clients: &[Arc<Client>]) -> baro_store::Result<()> {
        let mut to = To::new();
        for client in clients {
            for channel in client.lock().queue.channels() {
                to.entry(key_of(channel)).or_default().push(Arc::clone(client));
            }
        }
        let mut wanted: Vec<Key> = to.keys().copied().filter(|key| *key != NOTES).collect();
        wanted.sort_unstable();
        self.selection = Rc::new(Selection::of_ids(self.store.catalog(), &wanted)?);
        self.messages = Messages::new(Rc::clone(&self.selection));
        self.to = to;
        Ok(())
    }

    /// Reads what came, and puts it into queues.
    fn read(&mut self) -> baro_store::Result<Notes> {
        let Following { store, place, messages, selection, to, .. } = self;
        store.follow(place, |record| {
            hand_out_note(record, to);
            let mut each = |message: &Message<'_>| -> Result<(), Infallible> {
                hand_out(to, message.key, message.time_ns, message.payload);
                Ok(())
            };
            selection.unfold(record, |point| {
                let Ok(()) = messages.point(point, &mut each);
            });
            // The fields of two frames are two messages, also where these have one time.
            let Ok(()) = messages.end(&mut each);
            ControlFlow::Continue(())
        })
    }

    fn tell_missing(&mut self, notes: &Notes, clients: &[Arc<Client>]) {
        self.recycled += notes.blocks_recycled;
        self.damage += notes.damage.len() as u64;
        if notes.blocks_recycled == 0 && notes.damage.is_empty() {
            return;
        }
        let (recycled, damage) = (self.recycled, self.damage);
        let message = format!(
            "messages are missing: {recycled} blocks were recycled before they were read, and {damage} places \
             are damaged (baro verify tells which)"
        );
        tell_all(clients, &Notice::warning(MISSING, message));
    }
}

/// Messages of the topic of gaps and steps of the clock.
fn hand_out_note(record: &RecordRef<'_>, to: &To) {
    let gap = match record.kind {
        Kind::Gap => Some(Gap::decode(record.payload).unwrap_or_default()),
        Kind::Clock => None,
        Kind::Frame | Kind::Samples | Kind::Text | Kind::Declare | Kind::Moved => return,
    };
    if let Ok(time_ns) = u64::try_from(record.time_ns) {
        hand_out(to, NOTES, time_ns, note(gap).as_bytes());
    }
}

fn hand_out(to: &To, key: Key, time_ns: u64, payload: &[u8]) {
    let (Some(clients), Some(channel)) = (to.get(&key), channel_of(key)) else { return };
    let payload: Arc<[u8]> = payload.into();
    for client in clients {
        client.lock().queue.push(channel, time_ns, Arc::clone(&payload));
    }
}
