//! Media as a guest meets them: how much a device does in a second, and through which driver.
//!
//! Figures and what QEMU makes of them: results of `cargo xtask lab media`. Seeks are not modelled.

/// A modelled device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) name: &'static str,
    /// What it stands for.
    pub(crate) what: &'static str,
    pub(crate) driver: Driver,
    /// QEMU's limits: (name, per second). Its card does each sector by itself, so that a limit of
    /// operations would be one of sectors: a card's operations are as fast as the emulator.
    limits: &'static [(&'static str, u64)],
    pub(crate) rotational: bool,
}

/// The driver in the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Driver {
    /// /dev/vda
    Virtio,
    /// /dev/mmcblk0, behind an SD host controller: one request at a time.
    Mmc,
}

pub(crate) const MODELS: &[Model] = &[
    Model {
        name: "none",
        what: "as fast as the emulator",
        driver: Driver::Virtio,
        limits: &[],
        rotational: false,
    },
    Model {
        name: "emmc",
        what: "eMMC 5.0: 12 MB/s writing, 40 MB/s reading",
        driver: Driver::Mmc,
        limits: &[("bps-write", 12_000_000), ("bps-read", 40_000_000)],
        rotational: false,
    },
    Model {
        name: "sd",
        what: "SD card, class 10: 10 MB/s writing, 20 MB/s reading",
        driver: Driver::Mmc,
        limits: &[("bps-write", 10_000_000), ("bps-read", 20_000_000)],
        rotational: false,
    },
    Model {
        name: "sd4",
        what: "SD card, class 4: 4 MB/s writing, 6 MB/s reading, as much as busy hosts can emulate",
        driver: Driver::Mmc,
        limits: &[("bps-write", 4_000_000), ("bps-read", 6_000_000)],
        rotational: false,
    },
    Model {
        name: "hdd",
        what: "hard disk: 150 MB/s, 120 operations/s",
        driver: Driver::Virtio,
        limits: &[("bps-total", 150_000_000), ("iops-total", 120)],
        rotational: true,
    },
    Model {
        name: "flash",
        what: "a card by its speed alone, which busy hosts keep: 12 MB/s writing, 24 reading",
        driver: Driver::Virtio,
        limits: &[("bps-write", 12_000_000), ("bps-read", 24_000_000)],
        rotational: false,
    },
    Model {
        name: "ssd",
        what: "SATA SSD: 500 MB/s, 40,000 operations/s",
        driver: Driver::Virtio,
        limits: &[("bps-total", 500_000_000), ("iops-total", 40_000)],
        rotational: false,
    },
];

pub(crate) fn model(name: &str) -> Result<&'static Model, String> {
    MODELS.iter().find(|model| model.name == name).ok_or_else(|| {
        let known: Vec<_> = MODELS.iter().map(|model| model.name).collect();
        format!("no disk '{name}'; there are {}", known.join(" "))
    })
}

impl Model {
    /// The device in the guest.
    pub(crate) fn device(&self) -> &'static str {
        match self.driver {
            Driver::Virtio => "/dev/vda",
            Driver::Mmc => "/dev/mmcblk0",
        }
    }

    /// The limit for `read` or `write`; none where the emulator alone limits.
    pub(crate) fn bytes_per_s(&self, direction: &str) -> Option<u64> {
        let is_of =
            |name: &str| name == "bps-total" || name.strip_prefix("bps-") == Some(direction);
        self.limits.iter().find(|(name, _)| is_of(name)).map(|limit| limit.1)
    }

    /// Limits as a part of QEMU's option -drive.
    pub(crate) fn throttling(&self) -> String {
        self.limits.iter().map(|(name, value)| format!(",throttling.{name}={value}")).collect()
    }
}
