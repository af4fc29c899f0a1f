//! The unit of the recorder that runs from boot on, as text.
//!
//! Hardening leaves open what the tracer needs: its files lie below /sys, and names of functions are
//! shown to CAP_SYSLOG only. Paths are written as they are, so only those are taken that mean the same
//! to systemd, to a shell and to a reader.
//!
//! Invariant: the first line is [`MARKER`], by which a later call knows what it may replace. Held by
//! `a_service_is_written_again_and_removed`; that the rights are enough by
//! `a_ring_needs_no_more_than_its_unit_grants`.

/// The first line of what we wrote.
pub(super) const MARKER: &str =
    "# Written by baro trace install, which replaces and removes it as long as this line is first.";
/// The unit's name.
pub(super) const NAME: &str = "barograph-trace.service";

/// Folders that are others for the service, and by which line of the unit. ProtectHome=read-only hides
/// nothing of what is read.
pub(super) const HIDDEN: [(&str, &str); 3] =
    [("/tmp", "PrivateTmp"), ("/var/tmp", "PrivateTmp"), ("/dev", "PrivateDevices")];

/// What a unit is made of.
#[derive(Debug)]
pub(super) struct Unit<'a> {
    /// The program.
    pub(super) program: &'a str,
    /// Where traces go.
    pub(super) folder: &'a str,
    /// What is kept in memory, as typed.
    pub(super) ring: &'a str,
    /// When a call is slow, as typed.
    pub(super) over: &'a str,
    /// Traces in the folder.
    pub(super) keep: usize,
}

impl Unit<'_> {
    /// The file's contents.
    pub(super) fn text(&self) -> String {
        let Unit { program, folder, ring, over, keep } = self;
        format!(
            "{MARKER}
[Unit]
Description=Barograph, writes a trace of the last {ring} when a system call waited {over}
After=local-fs.target sys-kernel-tracing.mount
Wants=sys-kernel-tracing.mount
RequiresMountsFor={folder}

[Service]
Type=exec
ExecStart={program} trace --ring {ring} --over {over} --keep {keep} --out {folder}
# It ends with each trace, and is told of more by the next.
Restart=always
RestartSec=10
# A mistake in the options would be the same the next time.
RestartPreventExitStatus=2
UMask=0027
# A trace is made in memory and copied to its folder, which may be on what hangs.
RuntimeDirectory=barograph-trace
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes

# It is less than what it watches: its memory is the ring's 256 MiB, which become the trace in memory page by
# page, and what a trace's end takes.
Nice=5
MemoryMax=512M
OOMScoreAdjust=500

# Functions have addresses for CAP_SYSLOG only, so ProtectKernelLogs= must stay off; the folder may lie
# below one of another user. The tracer is below /sys, so ProtectKernelTunables= must stay off.
CapabilityBoundingSet=CAP_SYSLOG CAP_DAC_READ_SEARCH
AmbientCapabilities=
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths={folder}
ProtectHome=read-only
PrivateTmp=yes
PrivateDevices=yes
DevicePolicy=closed
PrivateNetwork=yes
IPAddressDeny=any
RestrictAddressFamilies=AF_UNIX
ProtectKernelModules=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RemoveIPC=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @keyring
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"
        )
    }
}
