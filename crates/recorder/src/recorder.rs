//! A store opened for recording.

#[cfg(test)]
mod broken;
mod changed;
mod durable;

use crate::declarations::Declarations;
use crate::keeper::{
    Guard, KEEPER_BROKEN, Keeper, KeeperCommand, KeeperThread, Moment, PinRequest, Requests,
    WriterLink,
};
use crate::opening::choose_direct;
use crate::ring::{Home, Producer, Ring, RingFolder, RingReader, RingReport};
use crate::types::KnownTypes;
use crate::writer::{
    BROKEN, Command, Engine, FileDevice, Own, Published, Start, Status, Stored, Trigger, Trouble,
    WRITE_THREADS, WriterThread,
};
use crate::{Error, Opening, Options, Result};
use baro_log::{
    Declared, Held, LostUnsettled, Recovery, Role, StoreLock, Taken, logged_before, open_folder,
};
use baro_ondisk::limits::{RECORD_BYTES_MAX, UNIT_BYTES};
use baro_ondisk::{Declaration, Layout, Pin, StoreId, Type, WhenFull};
use baro_promises::{Facts, Look};
use baro_sys::disk::Disk;
use baro_sys::memory::SharedMemory;
use baro_sys::queue::{Sender, channel};
use baro_sys::storage::{Access, Storage, StorageFile};
use baro_sys::{clock, identity, schedule, signals};
use changed::{complete_catalog, read_catalog, recover_changed};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Room that a block needs beside its largest record: header, record head, chunk table.
const BLOCK_OVERHEAD_BYTES: usize = 2 * UNIT_BYTES;
/// One being filled and one for each thread that writes: the ring holds what comes meanwhile.
const BUFFERS: usize = WRITE_THREADS + 1;
/// Rings of one recorder.
const RINGS_MAX: usize = 64;

/// A store that this process records into. Dropping it closes it.
#[derive(Debug)]
pub struct Recorder {
    store: StoreId,
    options: Options,
    record_bytes_max: usize,
    rings: RingFolder,
    ring_count: Mutex<usize>,
    declarations: Arc<Declarations>,
    commands: Sender<Command>,
    writer: WriterThread,
    keeper: KeeperThread,
    opening: Opening,
    before: Vec<Before>,
    taken: Arc<Taken>,
    _lock: StoreLock,
}

/// What an earlier recorder had lost or left in a ring that this one took over.
#[derive(Clone, Copy, Debug)]
struct Before {
    producer: u64,
    refused: u64,
    /// Of these, those that no gap told of.
    unlogged: u64,
    left: u64,
}

impl Before {
    fn of(ring: &RingReader) -> Self {
        let report = ring.report();
        let RingReport {
            producer, refused_full, refused_large, refused_unlogged: unlogged, ..
        } = report;
        let left = report.waiting();
        Before { producer, refused: refused_full.saturating_add(refused_large), unlogged, left }
    }
}

/// How a recording ended.
#[derive(Clone, Debug)]
pub struct Closed {
    /// The recorder's counters, and each ring's with what was left in it.
    pub status: Status,
    /// Records that could not be made durable; where rings are files they wait there for the next
    /// open of the store, until the machine is shut down.
    pub left: u64,
    /// Of [`Closed::left`], those that an earlier recorder had left already.
    pub left_before: u64,
    /// Records of this recorder, not of an earlier one, that were refused by a ring or given up.
    pub refused: u64,
    /// Records that an earlier recorder, which was killed, refused and could not note: gaps in the log now.
    pub refused_before: u64,
    /// Records that were durable and are not there any more: recycled before they were settled, or in
    /// files that somebody removed, cut or replaced; as far as that is known.
    pub lost_durable: u64,
    /// Samples in them.
    pub lost_durable_samples: u64,
    /// What was found wrong with the store while recording, in sentences; empty if nothing was.
    pub damage: Vec<String>,
}

impl Closed {
    /// Counts also what settling beside the recorder had read, in segments that were reused, and has put into
    /// no run: known when it has ended, after the recorder. `taken` is that recorder's.
    #[cfg(feature = "inspect")]
    pub fn settling_ended(&mut self, taken: &Taken) {
        let (before, lost) = (&self.status, taken.lost());
        // It may be less, too: what was read meanwhile is in a run now.
        let without = (
            self.lost_durable.saturating_sub(before.records_lost_unsettled),
            self.lost_durable_samples.saturating_sub(before.samples_lost_unsettled),
        );
        self.lost_durable = without.0 + lost.held.records;
        self.lost_durable_samples = without.1 + lost.held.samples;
        self.status.set_lost(lost);
    }
}

impl Recorder {
    /// Opens the store at `path` for recording: takes its lock, recovers, starts a session and the
    /// writer's threads, and takes over rings that a killed recorder left. Blocks for reading at
    /// most two segments, eight more if a ring is left that the last session knew nothing of, and for a third of a second before it says that another process records; see
    /// [`Opening`] for what holds here and what does not.
    ///
    /// # Errors
    /// It is no store, another process records into it, it is damaged, or memory is short.
    pub fn open(path: &Path, options: Options) -> Result<Self> {
        let started_ns = clock::monotonic_ns();
        options.check()?;
        let disk = open_folder(path)?;
        baro_log::read_identity(&disk, path)?;
        let lock = StoreLock::take_soon(&disk, Role::Recording)?
            .map_err(|holder| Error::Busy { path: path.to_owned(), pid: holder.pid })?;
        options.says.iter().try_for_each(|says| lock.say(says))?;
        schedule::raise_open_files();
        let (mut recovery, mut changed) = recover_changed(&disk, path)?;
        check_retention(&options, &recovery)?;
        let mut catalog = read_catalog(&disk, &recovery)?;
        // Declarations that a killed process had written but not synced are believed from now on.
        disk.open(baro_log::CATALOG, Access::Write)?.sync_data()?;
        let session = next_session(recovery.last_session.max(catalog.session()))?;
        complete_catalog(&disk, &mut recovery, session, &mut catalog, &mut changed)?;
        let store = recovery.identity.store;
        let home = Home::of(path, store)?;
        let rings = ring_folder(home, &options)?;
        let facts = Facts::of(path, Look::Write, options.ring_bytes);
        let (direct, reason) = choose_direct(&facts, &options);
        let mut opening = Opening::new(path, &disk, &recovery, &rings);
        opening.direct = direct;
        opening.not_direct_because = reason;
        let left = take_over(&rings, &disk, &recovery, &mut opening)?;
        let before: Vec<Before> = left.iter().map(Before::of).collect();
        opening.rings_taken_over = left.len() as u32;
        opening.weigh_rings(&options, recovery.identity.when_full, left.len());
        opening.records_taken_over = left.iter().map(RingReader::waiting).sum();
        let widest = left.iter().map(RingReader::record_bytes_max).max().unwrap_or(0);
        let record_bytes = options.record_bytes_max.max(widest).min(RECORD_BYTES_MAX);
        let segment_bytes = recovery.identity.segment_bytes;
        let block_bytes = block_bytes_for(options.block_bytes, record_bytes, segment_bytes);
        let record_bytes_max = options.record_bytes_max.min(block_bytes - BLOCK_OVERHEAD_BYTES);
        opening.buffer_bytes = buffer_bytes(block_bytes);
        let start = Start {
            durable_within_ns: options.durable_within_ns,
            block_bytes,
            buffers: BUFFERS,
            session,
            boot_id: identity::boot_id(),
            boottime_ns: clock::boottime_ns(),
            retention: options.retention,
        };
        opening.wear = recovery.wear;
        let boot_id = start.boot_id;
        let declarations = Declarations::new(disk.clone(), session, record_bytes_max, catalog);
        let declarations = Arc::new(declarations);
        let mut engine = Engine::new(start, &recovery)?;
        engine.know(KnownTypes::of(declarations.types()));
        let taken = Arc::new(Taken::default());
        engine.share(Arc::clone(&taken));
        left.into_iter().for_each(|ring| engine.add_leftover(ring));
        opening.fifo = options.probe_fifo();
        opening.cpu = options.probe_cpu();
        opening.judge(facts, &options);
        let ring_count = Mutex::new(engine.rings().len());
        let (commands, queue) = channel();
        let (keeper_commands, keeper_queue) = channel();
        let published = Arc::new(Mutex::new(Published::default()));
        let mut link = WriterLink { commands: commands.clone(), published: Arc::clone(&published) };
        let mut keeper =
            Keeper::open(disk.clone(), &recovery, options.retention, boot_id, &mut link)?;
        keeper.share(Arc::clone(&taken));
        opening.meet(&keeper);
        let scheduling = options.scheduling();
        let access = if direct { Access::WriteDirect } else { Access::Write };
        let (done, signals) = (commands.clone(), signals::blocked());
        let device = FileDevice::start(
            disk.clone(),
            access,
            Own { store, session, last_epoch: recovery.last_epoch },
            move || scheduling.apply(),
            move |completion| {
                let _ = done.send(Command::Done(completion));
            },
        )?;
        let events = keeper_commands.clone();
        let writer = WriterThread::start(engine, device, queue, scheduling, published, events)?;
        let mut guard = Guard::new(disk.clone(), &recovery, session);
        guard.look_back(&recovery, changed, || declarations.has_channels());
        let requests = requests_to(&declarations, store, &rings, opening.rings_taken_over > 0);
        let keeper =
            KeeperThread::start(keeper, (guard, requests), (keeper_commands, keeper_queue), link)?;
        drop(signals);
        opening.took_ns = clock::monotonic_ns() - started_ns;
        Ok(Recorder {
            store,
            options,
            record_bytes_max,
            rings,
            ring_count,
            declarations,
            commands,
            writer,
            keeper,
            opening,
            before,
            taken,
            _lock: lock,
        })
    }

    /// What was found at open, and which promises hold here.
    #[must_use]
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Ids for series and channels (name, type, unit), declared durably where they are new, with one
    /// sync for all of them: a million new ones take about a second. Ids rise in the order of
    /// declaration. Blocks for the device if any is new: declare before recording.
    ///
    /// # Errors
    /// A name is in use with another type or too long, the catalog is full, or the device fails; then
    /// none of the new ones is declared.
    pub fn declare(&self, wanted: &[(&str, Type, &str)]) -> Result<Vec<u32>> {
        self.declarations.declare(wanted)
    }

    /// The same, but what is refused, such as a name that is in use with another type, is an error of that
    /// one alone: the others are declared, with one sync for all of them. Their ids in `wanted` do not matter.
    ///
    /// # Errors
    /// The catalog is full, or the device fails; then none of the new ones is declared.
    pub fn declare_each(&self, wanted: &[Declaration<'_>]) -> Result<Vec<Result<u32>>> {
        self.declarations.declare_each(wanted)
    }

    /// The series or channel of this name, if it is declared. Does not block for the device.
    #[must_use]
    pub fn declared(&self, name: &str) -> Option<Declared> {
        self.declarations.get(name)
    }

    /// Id and type of the series or channel of this name, if it is declared. Does not block for
    /// the device, and allocates nothing for a name in canonical form.
    #[cfg(feature = "inspect")]
    #[must_use]
    pub fn declared_id(&self, name: &str) -> Option<(u32, Type)> {
        self.declarations.catalog().id(name)
    }

    /// How often series and channels that were new were made durable: each time all of a call, or of a
    /// request of another process.
    #[cfg(feature = "inspect")]
    #[must_use]
    pub fn catalog_syncs(&self) -> u64 {
        self.declarations.syncs()
    }

    /// Series and channels declared, and the bytes of memory that this takes.
    #[cfg(feature = "inspect")]
    #[must_use]
    pub fn catalog_size(&self) -> (usize, usize) {
        let catalog = self.declarations.catalog();
        (catalog.len(), catalog.memory_bytes())
    }

    /// The id of a channel whose frames have fields that are read back as series
    /// `channel.field`, declared durably if it is new. Blocks for the device then.
    ///
    /// # Errors
    /// As [`Recorder::declare`]; the channel has another layout, or none; a field has the name of
    /// a series; or the layout ends behind the largest frame that a ring of this recorder takes.
    pub fn declare_channel_with_layout(&self, name: &str, layout: &Layout) -> Result<u32> {
        self.declarations.declare_channel(name, layout)
    }

    /// A new ring with its producer.
    ///
    /// # Errors
    /// There is no memory, or the recorder has 64 rings already.
    pub fn producer(&self) -> Result<Producer> {
        // The same mapping serves both sides: mapped twice, it would count twice as resident and
        // as locked.
        let memory = self.ring(false)?;
        Producer::new(Ring::attach(memory, Some(self.store))?)
    }

    /// A new ring for a producer in another process, which calls [`Producer::attach`] on the path
    /// returned.
    ///
    /// # Errors
    /// There is no memory, no tmpfs, or the recorder has 64 rings already.
    pub fn ring_for_attach(&self) -> Result<PathBuf> {
        if self.rings.path().is_none() {
            let passed = self.rings.passed_over().iter().map(String::as_str);
            return Err(Error::Setting {
                name: "ring folder",
                expected: "a tmpfs such as /run or /dev/shm that nobody else writes in, to attach \
                           from another process; name one (--rings DIR)"
                    .to_owned(),
                found: ["none"].into_iter().chain(passed).collect::<Vec<_>>().join("; "),
            });
        }
        let path = self.ring(true)?.path().to_owned();
        // What its producer asks is looked for where it lies.
        for folder in self.rings.folders() {
            self.keeper.send(KeeperCommand::LookIn(folder))?;
        }
        Ok(path)
    }

    /// Makes a ring and hands its reading end to the writer.
    fn ring(&self, to_attach: bool) -> Result<SharedMemory> {
        let mut count = self.ring_count.lock().unwrap_or_else(PoisonError::into_inner);
        if *count >= RINGS_MAX {
            let (expected, found) = (format!("at most {RINGS_MAX}"), (*count + 1).to_string());
            return Err(Error::Setting { name: "rings", expected, found });
        }
        let producer = identity::random_u64()?.max(1);
        let ring =
            self.rings.make(producer, self.options.ring_bytes, self.record_bytes_max, to_attach)?;
        let memory = ring.memory.clone();
        let reader = Box::new(RingReader::new(ring, 0)?);
        self.commands.send(Command::AddRing(reader)).map_err(|_| Error::WriterGone)?;
        *count += 1;
        Ok(memory)
    }

    /// The recorder's counters and each ring's, as the writer last saw them.
    #[must_use]
    pub fn status(&self) -> Status {
        let Published { status, rings, .. } = self.writer.published();
        let (memory_bytes, growth) = (self.memory_bytes(), self.keeper.growth());
        let mut status = Status { memory_bytes, growth, rings, ..status };
        status.set_lost(self.taken.lost());
        status
    }

    /// Keeps a window of what was and will be recorded from being recycled. Blocks until the pin is
    /// durable: not for the thread that must not wait. Its id is in the pin.
    ///
    /// # Errors
    /// Pins would hold more than half the log, the log is full, or the device fails; recording
    /// goes on.
    pub fn pin(&self, request: &PinRequest) -> Result<Pin> {
        request.check()?;
        let (id, moment) = (identity::random_u64()?.max(1), Moment::now());
        let PinRequest { before_ns, after_ns, .. } = *request;
        // Held at once: the keeper, which makes it durable, may be waiting for the device.
        let (reply, answer) = channel();
        let moment_ns = moment.boottime_ns;
        let hold = Command::Hold { id, moment_ns, before_ns, after_ns, reply };
        self.commands.send(hold).map_err(|_| Error::WriterGone)?;
        answer.recv().map_err(|_| Error::WriterGone)?.map_err(Error::Pin)?;
        let (reply, answer) = channel();
        let asked = self.keeper.send(KeeperCommand::Pin(id, request.clone(), moment, reply));
        let granted = asked.and_then(|()| answer.recv().map_err(|_| Error::WriterGone)?);
        if granted.is_err() {
            let _ = self.commands.send(Command::Tell(crate::keeper::Tell::Unpin(id)));
        }
        granted
    }

    /// All pins of the store, as they stand.
    #[must_use]
    pub fn pins(&self) -> Vec<Pin> {
        self.keeper.kept().pins
    }

    /// Gives what a pin holds back to recycling. Blocks until that is durable.
    ///
    /// # Errors
    /// There is no such pin, or the device fails.
    pub fn release_pin(&self, id: u64) -> Result<()> {
        let (reply, answer) = channel();
        self.keeper.send(KeeperCommand::Release(id, reply))?;
        answer.recv().map_err(|_| Error::WriterGone)?
    }

    /// From now on a value of a series asks for a pin by itself. The writer looks at the values,
    /// never a push.
    ///
    /// # Errors
    /// The keeper's thread has ended.
    pub fn watch(&self, trigger: Trigger) -> Result<()> {
        self.keeper.send(KeeperCommand::Watch(trigger))
    }

    /// Whether unsettled segments yield to new records from now on
    /// ([`Retention::unsettled_yield`](crate::Retention::unsettled_yield)): for when nobody settles
    /// any more, or somebody does again.
    #[cfg(feature = "inspect")]
    pub fn unsettled_yield(&self, yields: bool) {
        // A writer that has ended recycles nothing.
        let _ = self.commands.send(Command::Tell(crate::keeper::Tell::UnsettledYield(yields)));
    }

    /// What the keeper could not do, in sentences; empty if all is well.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let kept = self.keeper.kept();
        let said = |what: &str, why: Option<String>| why.map(|why| format!("{what}: {why}"));
        let growth = kept.growth;
        let status = self.writer.published().status;
        let broken = status.rings_broken;
        let misfit = "records were pushed whose series is declared with another type";
        let misfits = "they are not recorded, and are counted as lost".to_owned();
        let undeclared = "records were pushed with an id that nobody has declared";
        let nameless =
            "they are recorded, and no name finds them: declare before pushing".to_owned();
        let lost = format!("{broken} of them were cut off or hold what no producer writes");
        let at = format!("the log has {} of {} segments", growth.grown, growth.target);
        [
            said(
                "rings are given up, and what was in them is counted as lost",
                (broken > 0).then_some(lost),
            ),
            said(misfit, (status.records_misfit > 0).then_some(misfits)),
            said(undeclared, (status.records_undeclared > 0).then_some(nameless)),
            said(&at, growth.stopped),
            said("pinned segments are not copied out of the log", kept.copy_stopped),
            said("a pin was refused", kept.refused),
            said("a request to declare was refused", kept.undeclared),
        ]
        .into_iter()
        .flatten()
        .chain(kept.findings.said)
        .collect()
    }

    /// What was durable and is not there any more.
    fn gone(&self, lost: LostUnsettled) -> Held {
        let (published, findings) = (self.writer.published(), self.keeper.kept().findings);
        let sum = |each: &mut dyn Iterator<Item = Held>| each.fold(Held::default(), Held::plus);
        let stored = published.stored.iter();
        let taken = if findings.all {
            let (all, now) = (published.durable, sum(&mut stored.map(|stored| stored.held)));
            if now.records > all.records { now } else { all }
        } else {
            let lost = |stored: &Stored| {
                let gone = findings.gone.iter().find(|gone| gone.epoch == stored.epoch)?;
                Some(stored.held.without(gone.readable_below(stored.end)))
            };
            sum(&mut stored.filter_map(lost))
        };
        taken.plus(lost.held)
    }

    /// Records of this recorder that are lost so far: refused or given up, or durable and not there any
    /// more.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let published = self.writer.published();
        self.refused_or_given_up(&published).0 + self.gone(self.taken.lost()).records
    }

    /// Records of this recorder, and those that an earlier one refused without a gap.
    fn refused_or_given_up(&self, published: &Published) -> (u64, u64) {
        let (mut refused, mut unlogged) = (0, 0);
        for ring in &published.rings {
            let before = self.before.iter().find(|before| before.producer == ring.producer);
            let all = ring.refused_full.saturating_add(ring.refused_large);
            refused += all.saturating_sub(before.map_or(0, |before| before.refused));
            unlogged += before.map_or(0, |before| before.unlogged);
        }
        // What was given up is a gap and no refusal.
        let Status { lost, given_up, .. } = published.status;
        (refused.max(lost.saturating_sub(unlogged)).saturating_add(given_up), unlogged)
    }

    /// What [`Status::memory_bytes`] says: known here, since a ring counts once it is made.
    fn memory_bytes(&self) -> usize {
        let rings = *self.ring_count.lock().unwrap_or_else(PoisonError::into_inner);
        let ring = Ring::memory_bytes(Ring::capacity_for(self.options.ring_bytes));
        self.opening.buffer_bytes + rings * ring
    }

    /// Memory in bytes that opening a store with segments of `segment_bytes` takes, with one ring.
    #[cfg(feature = "inspect")]
    #[must_use]
    pub fn memory_bytes_for(options: &Options, segment_bytes: u64) -> usize {
        let ring = Ring::memory_bytes(Ring::capacity_for(options.ring_bytes));
        let block = block_bytes_for(options.block_bytes, options.record_bytes_max, segment_bytes);
        buffer_bytes(block) + ring
    }

    /// For settling in this process: it tells there what it has read. What is read then does not count as
    /// lost when its segment is reused, as long as settling may still put it into a run.
    #[must_use]
    pub fn taken(&self) -> Arc<Taken> {
        Arc::clone(&self.taken)
    }

    /// Makes what the rings hold durable and ends. Pushes are refused from now on.
    #[must_use]
    pub fn close(mut self) -> Closed {
        self.end();
        let published = self.writer.published();
        let (refused, unlogged) = self.refused_or_given_up(&published);
        let (mut left, mut left_before) = (0, 0);
        for ring in &published.rings {
            let before = self.before.iter().find(|before| before.producer == ring.producer);
            left += ring.left;
            left_before += before.map_or(0, |before| before.left.min(ring.left));
        }
        let lost = self.taken.lost();
        let gone = self.gone(lost);
        let Published { mut status, rings, .. } = published;
        status.set_lost(lost);
        let mut damage = self.keeper.kept().findings.said;
        if matches!(&status.trouble, Trouble::Device { error } if error == BROKEN) {
            damage.push(BROKEN.to_owned());
        }
        if self.keeper.has_broken() {
            damage.push(KEEPER_BROKEN.to_owned());
        }
        Closed {
            left,
            left_before,
            refused_before: unlogged,
            refused,
            status: Status { growth: self.keeper.growth(), rings, ..status },
            lost_durable: gone.records,
            lost_durable_samples: gone.samples,
            damage,
        }
    }

    fn end(&mut self) {
        self.keeper.close();
        let _ = self.commands.send(Command::Close);
        self.writer.join();
        let last_look = self.keeper.end();
        let published = self.writer.published();
        self.declarations.mark_end();
        if let Some(last_look) = last_look {
            last_look.look(&published.stored);
        }
        self.rings.remove_if_empty();
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where rings are made, as the options say.
fn ring_folder(home: Home, options: &Options) -> Result<RingFolder> {
    match &options.rings {
        crate::Rings::Find => RingFolder::find(home, None),
        crate::Rings::In(folder) => RingFolder::find(home, Some(folder)),
        crate::Rings::Private => Ok(RingFolder::none(home)),
    }
}

/// Largest block: holds the largest record, and a segment holds a few blocks, whatever its size.
fn block_bytes_for(block_bytes: usize, record_bytes: usize, segment_bytes: u64) -> usize {
    let ceiling = (segment_bytes as usize / 4).next_multiple_of(UNIT_BYTES);
    let wanted = (record_bytes + BLOCK_OVERHEAD_BYTES).next_multiple_of(UNIT_BYTES);
    block_bytes.next_multiple_of(UNIT_BYTES).max(wanted).min(ceiling)
}

fn buffer_bytes(block_bytes: usize) -> usize {
    BUFFERS * block_bytes + 3 * UNIT_BYTES
}

/// One more than any session so far, of the log and of the catalog, with random lower bits.
fn next_session(last: u64) -> Result<u64> {
    let random = identity::random_u64()? & 0xffff_ffff;
    Ok(((last >> 32) + 1) << 32 | random)
}

/// Who answers what other processes want declared: those of this store's rings, if an earlier recorder
/// left some that may still be pushed to.
fn requests_to(
    declarations: &Arc<Declarations>,
    store: StoreId,
    rings: &RingFolder,
    any_left: bool,
) -> Requests {
    let mut requests = Requests::new(Arc::clone(declarations), store);
    if any_left {
        rings.folders().into_iter().for_each(|folder| requests.look_in(folder));
    }
    requests
}

/// Rings that an earlier recorder left, for draining; why others cannot be used is noted.
fn take_over(
    rings: &RingFolder,
    disk: &Disk,
    recovery: &Recovery,
    opening: &mut Opening,
) -> Result<Vec<RingReader>> {
    let mut readers = Vec::new();
    let refused = &mut opening.rings_refused;
    let leftovers = rings.leftovers();
    // The newest session may not have had it: see `logged_before`.
    let unknown = leftovers.iter().flatten().filter(|ring| {
        let report = ring.report();
        let holds = report.waiting() > 0 || report.used_bytes > 0;
        holds && !recovery.producers.contains_key(&ring.producer)
    });
    let unknown: Vec<u64> = unknown.map(|ring| ring.producer).collect();
    let before = logged_before(disk, recovery, &unknown)?;
    for found in leftovers {
        let reader = found.and_then(|ring| {
            let logged = recovery.producers.get(&ring.producer);
            let logged = logged.or_else(|| before.get(&ring.producer));
            RingReader::new(ring, logged.copied().unwrap_or(0))
        });
        match reader {
            Ok(reader) if readers.len() < RINGS_MAX / 2 => readers.push(reader),
            Ok(reader) => {
                refused.push(format!("{}: too many rings", reader.path().display()));
            }
            Err(error) => {
                // Of a recorder that was killed while it made one there are holes, or nothing, and nothing was
                // in it. What has a ring's magic was made.
                let is_ring = |field: &str| field != "magic";
                let damaged = matches!(&error, Error::ForeignRing { field, .. } if is_ring(field));
                opening.rings_damaged += u32::from(damaged);
                refused.push(error.to_string());
            }
        }
    }
    Ok(readers)
}

fn check_retention(options: &Options, recovery: &Recovery) -> Result<()> {
    if !options.retention.recycles() || recovery.identity.when_full == WhenFull::Recycle {
        return Ok(());
    }
    Err(Error::Setting {
        name: "retention",
        expected: "a store that recycles (baro init --recycle) to keep by bytes or age".to_owned(),
        found: "one that refuses new records when it is full".to_owned(),
    })
}
