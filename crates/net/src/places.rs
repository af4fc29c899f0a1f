//! Places for connections: how many there are, who has one, and who gives his to a new one.
//!
//! One address has some of them at most: whoever sends slowly from there takes no places from others.
//!
//! A client that waits between two requests holds a place for nothing. When all are taken, the one that has
//! waited longest gives its place up, and so has the one of the same address when that has its share: clients open a connection again by themselves.

use baro_sys::clock;
use baro_sys::tcp::Tcp;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who has waited for less is about to send.
const IDLE_NS: u64 = 100_000_000;

/// A connection with a place.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) tcp: Tcp,
    whose: IpAddr,
    id: u64,
    /// Since when it has no request; 0: it has one.
    idle_ns: AtomicU64,
}

impl Place {
    pub(crate) fn is_idle(&self) {
        self.idle_ns.store(clock::monotonic_ns().max(1), Relaxed);
    }

    pub(crate) fn is_busy(&self) {
        self.idle_ns.store(0, Relaxed);
    }
}

/// What became of a new connection.
#[derive(Debug)]
pub(crate) enum Entered {
    Has(Arc<Place>),
    /// And an idle one was closed for it.
    Instead(Arc<Place>),
    Full(Tcp),
    /// Its address has as many as one may have.
    FullOfOne(Tcp),
}

/// Whose a connection is: an address of IPv4, or a network of 64 bits, of which one machine has all
/// addresses.
pub(crate) fn whose(peer: SocketAddr) -> IpAddr {
    match peer.ip().to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

/// All places.
#[derive(Debug)]
pub(crate) struct Places {
    max: usize,
    max_of_one: usize,
    taken: Mutex<(u64, HashMap<u64, Arc<Place>>)>,
}

impl Places {
    pub(crate) fn new(max: usize, max_of_one: usize) -> Self {
        Places { max, max_of_one, taken: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, (u64, HashMap<u64, Arc<Place>>)> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(&self, tcp: Tcp) -> Entered {
        let mut taken = self.lock();
        let whose = whose(tcp.peer());
        let of_one = taken.1.values().filter(|place| place.whose == whose).count();
        let is_full_of_one = of_one >= self.max_of_one;
        let mut instead = false;
        if is_full_of_one || taken.1.len() >= self.max {
            let now_ns = clock::monotonic_ns();
            let idle = taken.1.values().filter_map(|place| {
                let since_ns = place.idle_ns.load(Relaxed);
                let may = !is_full_of_one || place.whose == whose;
                (may && since_ns > 0 && now_ns.saturating_sub(since_ns) > IDLE_NS)
                    .then_some((since_ns, place.id))
            });
            let Some((_, id)) = idle.min() else {
                return if is_full_of_one { Entered::FullOfOne(tcp) } else { Entered::Full(tcp) };
            };
            if let Some(place) = taken.1.remove(&id) {
                place.tcp.end();
            }
            instead = true;
        }
        taken.0 += 1;
        let place = Arc::new(Place { tcp, whose, id: taken.0, idle_ns: AtomicU64::new(0) });
        taken.1.insert(place.id, Arc::clone(&place));
        if instead { Entered::Instead(place) } else { Entered::Has(place) }
    }

    pub(crate) fn leave(&self, place: &Place) {
        self.lock().1.remove(&place.id);
    }

    pub(crate) fn are_free(&self) -> bool {
        self.lock().1.is_empty()
    }

    /// Those without a request are closed; with `all` the others too.
    pub(crate) fn end(&self, all: bool) {
        for place in self.lock().1.values() {
            if all || place.idle_ns.load(Relaxed) > 0 {
                place.tcp.end();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_address_and_ipv4_has_one_form() {
        let of = |text: &str| whose(text.parse().unwrap());
        assert_eq!(of("[2001:db8:1:2::7]:1"), of("[2001:db8:1:2:9:9:9:9]:2"));
        assert_ne!(of("[2001:db8:1:2::7]:1"), of("[2001:db8:1:3::7]:1"));
        assert_eq!(of("[::ffff:10.0.0.1]:1"), of("10.0.0.1:2"));
        assert_ne!(of("10.0.0.1:1"), of("10.0.0.2:1"));
    }
}
