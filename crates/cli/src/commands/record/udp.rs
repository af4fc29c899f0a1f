//! Datagrams as a source. It cannot wait: what finds the ring full is refused and counted, and
//! what finds the kernel's buffer full is counted as lost at the source. Both counts, and that of
//! garbage, are told at the end; drops and garbage are also recorded, as series of their own, so
//! that the log says when they happened.
//!
//! Whoever reaches the port can name series, and a series is for ever. So datagrams bring new ones only
//! while the store has few in all, however they came: that is a limit of the store, which a restart does
//! not lift and a second address does not double, and nothing has to be kept for it. What is declared is
//! taken whatever else comes. Held by `datagrams_cannot_fill_a_catalog_however_often_it_restarts`.

use crate::failure::{Mistake, Result};
use baro_ingest::{Fed, Intake, Manner, Room, Row, Target};
use baro_ondisk::Type;
use baro_recorder::Recorder;
use baro_sources::{Sample, TextForm, datagram};
use baro_sys::clock;
use baro_sys::udp::{DATAGRAM_BYTES_MAX, Datagram, Udp};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Datagrams taken at once, as long as there are some: new series of all of them are declared together.
const TOGETHER_MAX: usize = 256;
const WAIT_NS: u64 = 20_000_000;
/// How often drops are asked for.
const COUNT_NS: u64 = 100_000_000;
/// Datagrams taken at most after a stop: what the buffer held then.
const REST_MAX: usize = 100_000;

/// A UDP source, bound before the store is opened: an address that cannot be had ends nothing.
#[derive(Debug)]
pub(crate) struct UdpFeed {
    udp: Udp,
    /// Each datagram is a frame of this channel; without it, lines.
    channel: Option<String>,
    /// Series that a store may have for datagrams to bring another.
    series_max: usize,
    /// What is said of lines.
    form: TextForm,
}

impl UdpFeed {
    /// Binds. Refuses to listen to the network unless that was asked for.
    pub(crate) fn bind(
        address: SocketAddr,
        buffer_bytes: usize,
        network: bool,
        channel: Option<String>,
        series_max: usize,
    ) -> Result<Self> {
        if let Some(said) = is_open(address, network) {
            return Err(Mistake::new(format!("--udp {address}: {said}")).into());
        }
        let udp = Udp::bind(address, buffer_bytes)?;
        let granted_bytes = udp.buffer_bytes();
        if granted_bytes < buffer_bytes / 2 * 2 {
            say!(
                "note: udp {address}: expected a buffer of {buffer_bytes} bytes, the kernel grants \
                 {granted_bytes}; more with: sysctl net.core.rmem_max, or CAP_NET_ADMIN"
            );
        }
        Ok(UdpFeed { udp, channel, series_max, form: TextForm::default() })
    }

    /// The same, with what is said of lines.
    pub(crate) fn reading(self, form: TextForm) -> Self {
        UdpFeed { form, ..self }
    }
}

/// What is wrong with an address that others reach, unless that was asked for.
pub(super) fn is_open(address: SocketAddr, network: bool) -> Option<&'static str> {
    (!address.ip().is_loopback() && !network).then_some(
        "expected an address of this machine only, such as 127.0.0.1, found one that others reach: \
         anybody there could write into the store; allow it with --udp-network",
    )
}

/// An address and a port.
pub(crate) fn address(text: &str) -> std::result::Result<SocketAddr, String> {
    // The name that each machine has for itself; others are looked up nowhere.
    let numbers = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numbers.as_deref().unwrap_or(text).parse().map_err(|_| {
        format!(
            "expected an address and a port such as 127.0.0.1:9000 or [::1]:9000, found {text:?}"
        )
    })
}

/// The series that tell what the socket lost.
struct Health {
    producer: baro_recorder::Producer,
    ids: Vec<u32>,
    told: Vec<i64>,
    counted_ns: u64,
}

impl Health {
    fn new(recorder: &Recorder, address: SocketAddr) -> Result<Self> {
        let name = |what: &str| format!("udp_{what}{{address=\"{address}\"}}");
        let (dropped, bad) = (name("dropped"), name("not_understood"));
        let unit = "datagrams";
        let ids = recorder.declare(&[(&dropped, Type::I64, unit), (&bad, Type::I64, unit)])?;
        let producer = recorder.producer()?;
        Ok(Health { producer, ids, told: vec![0, 0], counted_ns: 0 })
    }

    /// Records the counts if they have changed, at most ten times a second unless `now`.
    fn tell(&mut self, udp: &mut Udp, fed: &mut Fed, now: bool) {
        let clock_ns = clock::monotonic_ns();
        if !now && clock_ns - self.counted_ns < COUNT_NS {
            return;
        }
        self.counted_ns = clock_ns;
        fed.dropped = udp.dropped();
        let counts = vec![fed.dropped as i64, fed.bad as i64];
        if counts != self.told
            && self.producer.push_samples(clock::realtime_ns(), &self.ids, &counts).is_ok()
        {
            self.told = counts;
        }
    }
}

pub(super) fn run(feed: UdpFeed, recorder: &Recorder, stop: &AtomicBool) -> Result<Fed> {
    let UdpFeed { mut udp, channel, series_max, form } = feed;
    let address = udp.address();
    let name = format!("udp {address}");
    say!("{name}: listening");
    let mut health = Health::new(recorder, address)?;
    let target = Target::of(recorder, Room::NotWaitedFor)?;
    let mut intake = Intake::new(&name, target, Manner::as_they_come(0))?;
    let channel = match &channel {
        Some(channel) => recorder.declare(&[(channel, Type::Channel, "")])?.first().copied(),
        None => None,
    };
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    let mut rest = REST_MAX;
    loop {
        let stopping = stop.load(Ordering::Relaxed);
        let wait_ns = if stopping { 1 } else { WAIT_NS };
        let mut next = udp.receive(&mut buffer, wait_ns)?;
        if next.is_none() && stopping {
            break;
        }
        // Nothing is held now that is not declared.
        intake.limit_new(series_max.saturating_sub(recorder.catalog_size().0));
        let mut taken = 0;
        while let Some(datagram) = next.take() {
            intake.fed.datagrams += 1;
            let bytes = buffer.get(..datagram.bytes).unwrap_or(&[]);
            take(&mut intake, &form, channel, &datagram, bytes)?;
            rest = rest.saturating_sub(usize::from(stopping));
            taken += 1;
            if taken < TOGETHER_MAX && rest > 0 {
                next = udp.receive_at_once(&mut buffer)?;
            }
        }
        intake.flush(&mut |_| {})?;
        health.tell(&mut udp, &mut intake.fed, false);
        if rest == 0 {
            break;
        }
    }
    health.tell(&mut udp, &mut intake.fed, true);
    Ok(intake.fed)
}

/// Records what one datagram holds.
fn take(
    intake: &mut Intake<'_>,
    form: &TextForm,
    channel: Option<u32>,
    datagram: &Datagram,
    bytes: &[u8],
) -> Result<()> {
    let now_ns = datagram.arrived_ns.unwrap_or_else(clock::realtime_ns);
    let number = intake.fed.datagrams;
    if channel.is_none() {
        intake.begin();
    }
    // What has no time has this one, or the next behind what came before.
    intake.came_at(now_ns);
    if let Some(channel) = channel {
        let time_ns = intake.line_time_ns(number);
        return Ok(intake.take_frame(channel, time_ns, bytes)?);
    }
    let mut result = Ok(());
    datagram::read_as(bytes, form, |item| match item {
        Ok(Sample { line, time_ns, series, joint, value, mark }) if result.is_ok() => {
            let time_ns = time_ns.unwrap_or_else(|| intake.line_time_ns(line));
            let (value, types) = ((&value).into(), mark.into());
            let row = Row { line, series: &series, time_ns, value, types, joint, written: None };
            result = intake.take(&row, &mut |_| {});
        }
        Ok(_) => {}
        Err(error) => intake.fed.complain(|| format!("datagram {number}, {error}")),
    });
    Ok(result?)
}
