//! Which files of /proc are sampled, and how often each.
//!
//! The default divisors follow the cost of a reading and what a reading can show, both measured
//! with `cargo run --release -p baro-sources --example source_costs`: see [`ProcSelection`].
//! Invariant: a divisor of 0 never gets past this module (it means: not read at all). Held by
//! `tests::divisors_thin_out_the_dear_files`.

/// One file of /proc that the sampler knows how to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProcSource {
    /// `stat`: processor time per CPU in USER_HZ ticks, interrupts, context switches, forks.
    Stat,
    /// `vmstat`: counters and levels of the memory management.
    Vmstat,
    /// `meminfo`: what memory is used for.
    Meminfo,
    /// `diskstats`: requests, sectors and times per block device.
    Diskstats,
    /// `net/dev`: bytes, packets and errors per network interface of this network namespace.
    NetDev,
    /// `pressure/cpu`: time in which tasks waited for a processor.
    PressureCpu,
    /// `pressure/io`: time in which tasks waited for I/O.
    PressureIo,
    /// `pressure/memory`: time in which tasks waited for memory.
    PressureMemory,
    /// `schedstat`: run time and run-queue delay per CPU (kernels with CONFIG_SCHEDSTATS).
    Schedstat,
}

impl ProcSource {
    /// All of them, in the order in which they are read and in which series are numbered.
    pub const ALL: [Self; 9] = [
        Self::Stat,
        Self::Vmstat,
        Self::Meminfo,
        Self::Diskstats,
        Self::NetDev,
        Self::PressureCpu,
        Self::PressureIo,
        Self::PressureMemory,
        Self::Schedstat,
    ];

    /// The path below the root, such as `net/dev`.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Stat => "stat",
            Self::Vmstat => "vmstat",
            Self::Meminfo => "meminfo",
            Self::Diskstats => "diskstats",
            Self::NetDev => "net/dev",
            Self::PressureCpu => "pressure/cpu",
            Self::PressureIo => "pressure/io",
            Self::PressureMemory => "pressure/memory",
            Self::Schedstat => "schedstat",
        }
    }

    fn default_divisor(self) -> u32 {
        match self {
            // Processor time advances in USER_HZ steps of 10 ms, and for the `intr` line the kernel
            // adds up every interrupt of every CPU: dear on big servers.
            Self::Stat => 10,
            // The dearest text of a small machine: some 200 counters, most summed over the CPUs.
            // Its levels are folded together by the kernel only about once a second.
            Self::Vmstat => 10,
            // The same levels as vmstat, in other units.
            Self::Meminfo => 10,
            // Grows with the CPUs and their scheduling domains (tens of numbers each).
            Self::Schedstat => 10,
            Self::Diskstats
            | Self::NetDev
            | Self::PressureCpu
            | Self::PressureIo
            | Self::PressureMemory => 1,
        }
    }
}

/// Which files are read, and at which fraction of the ticks.
///
/// The default reads `diskstats`, `net/dev` and `pressure/*` at every tick, and `stat`, `vmstat`,
/// `meminfo` and `schedstat` at every tenth. Measured on two CPUs and Linux 6.18, one reading costs
/// 9 us for vmstat, 3 us for diskstats, 2 to 3 us each for stat, meminfo and net/dev and 0.8 us for
/// each pressure file; 22 us for all, 11 us a tick with the default. So a small machine can afford
/// everything at 1 kHz (2 % of a CPU). The default is for large ones, where the texts of these four
/// grow with the CPUs, and for the store: those four are 290 of 430 series here, and at 1 kHz show
/// little that they do not show at 100 Hz.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcSelection {
    divisors: [u32; ProcSource::ALL.len()],
    idle_disks: bool,
}

impl Default for ProcSelection {
    fn default() -> Self {
        Self { divisors: ProcSource::ALL.map(ProcSource::default_divisor), idle_disks: false }
    }
}

impl ProcSelection {
    /// Reads nothing until files are added.
    #[must_use]
    pub fn none() -> Self {
        Self { divisors: [0; ProcSource::ALL.len()], idle_disks: false }
    }

    /// Reads `source` at every `divisor`-th tick; 0 leaves it out.
    #[must_use]
    pub fn with(mut self, source: ProcSource, divisor: u32) -> Self {
        self.divisors[source as usize] = divisor;
        self
    }

    /// Whether loop, ram and nbd devices nobody has used before the sampler was opened get series
    /// too. They are left out by default: a stock kernel has 8 to 24 of them, 17 series each.
    #[must_use]
    pub fn with_idle_disks(mut self, idle_disks: bool) -> Self {
        self.idle_disks = idle_disks;
        self
    }

    /// At every which tick `source` is read; `None` if never.
    #[must_use]
    pub fn divisor(&self, source: ProcSource) -> Option<u32> {
        Some(self.divisors[source as usize]).filter(|divisor| *divisor > 0)
    }

    pub(super) fn idle_disks(&self) -> bool {
        self.idle_disks
    }
}
