//! Where something is done by a path that is about no state, each with its reason: file or folder, function,
//! why.
//!
//! A folder of a measurement's own is in no folder in which others decide what a name means
//! (`crates/bench/src/ground.rs`), so paths in it mean what they meant when it was made.

pub(super) const OPEN: &[(&str, &str, &str)] = &[
    // Measurements.
    ("crates/bench/src/experiment/machine.rs", "files::read_text", KERNEL),
    (
        "crates/bench/src/experiment/measurement.rs",
        "files::open_append",
        "its text tells whose it is",
    ),
    ("crates/bench/src/experiment/measurement.rs", "files::read_text", NAMED),
    ("crates/bench/src/ground.rs", "files::make_folder", "a user who is no root, by a free name"),
    ("crates/bench/src/load.rs", "files::remove_empty_folder", OWN),
    ("crates/bench/src/load/", "files::create", OWN),
    ("crates/bench/src/load/", "files::remove", OWN),
    ("crates/bench/src/load/", "files::rename", OWN),
    ("crates/bench/src/methods.rs", "files::create", OWN),
    ("crates/bench/src/methods.rs", "files::remove", OWN),
    (
        "crates/bench/src/papers/recorder/site.rs",
        "LockFile::holder",
        "waits for no pipe; root's in root's",
    ),
    ("crates/bench/src/papers/recorder/site.rs", "LockFile::take", OWN),
    (
        "crates/bench/src/papers/recorder/site.rs",
        "files::list",
        "only names; root takes root's alone",
    ),
    ("crates/bench/src/push/memory.rs", "files::read_text", KERNEL),
    ("crates/bench/src/stand.rs", "files::make_folder", GROUP),
    ("crates/bench/src/stand.rs", "files::read_text", KERNEL),
    ("crates/bench/src/stand/dismantle.rs", "files::list", KERNEL),
    ("crates/bench/src/stand/dismantle.rs", "files::read_text", KERNEL),
    ("crates/bench/src/stand/dismantle.rs", "files::remove_empty_folder", GROUP),
    ("crates/bench/src/store/yardsticks.rs", "files::create", OWN),
    ("crates/bench/src/store/yardsticks.rs", "files::remove", OWN),
    (
        "crates/bench/src/verb/experiment.rs",
        "files::remove",
        "the name of a measurement, made anew",
    ),
    ("crates/bench/src/verb/experiment.rs", "files::replace", REPLACED),
    ("crates/bench/src/verb/recording.rs", "files::remove", OWN),
    ("crates/bench/src/ways.rs", "files::remove", OWN),
    ("crates/bench/src/ways/", "files::create", OWN),
    ("crates/bench/src/ways/available.rs", "files::create_new", OWN),
    ("crates/bench/src/ways/available.rs", "files::remove", OWN),
    ("crates/bench/src/ways/mcap.rs", "fs::read", "a test looks at what was written"),
    ("crates/cli/src/commands/bench/store.rs", "files::replace", REPLACED),
    ("crates/cli/src/commands/demo.rs", "files::replace", REPLACED),
    ("crates/cli/src/commands/demo/place.rs", "files::list", OWN),
    ("crates/cli/src/commands/demo/place.rs", "files::remove_empty_folder", OWN),
    // What a user names, read or written with that user's rights.
    ("crates/cli/src/advice.rs", "files::list", "names, for a sentence"),
    ("crates/cli/src/commands/blk/files.rs", "files::open", NAMED),
    ("crates/cli/src/commands/explain.rs", "files::open", NAMED),
    ("crates/cli/src/commands/explain/kernel_log.rs", "files::open", NAMED),
    ("crates/cli/src/commands/import.rs", "files::open", NAMED),
    ("crates/cli/src/commands/import/", "files::open", NAMED),
    ("crates/cli/src/commands/import/progress.rs", "files::size_bytes", NAMED),
    ("crates/cli/src/commands/init.rs", "files::list", "counts what is in the way"),
    (
        "crates/cli/src/commands/init.rs",
        "files::remove_if_empty",
        "the folder that it has just made",
    ),
    ("crates/cli/src/commands/making.rs", "PacedOutput::create", REPLACED),
    ("crates/cli/src/commands/making.rs", "PacedOutput::replace", REPLACED),
    ("crates/cli/src/commands/making.rs", "files::remove", "the name of an output it made"),
    ("crates/cli/src/commands/making.rs", "files::remove_if_empty", "an output it made"),
    ("crates/cli/src/commands/making.rs", "files::rename", "an output it made, to its name"),
    ("crates/cli/src/commands/making.rs", "files::size_bytes", "a number, for a sentence"),
    ("crates/cli/src/commands/plan/inputs.rs", "files::open", NAMED),
    ("crates/cli/src/commands/record/plain.rs", "files::list", "names that are in the way"),
    ("crates/cli/src/commands/text_form.rs", "files::open", NAMED),
    (
        "crates/cli/src/commands/share/profile.rs",
        ".canonicalize()",
        "goes through it from there on",
    ),
    (
        "crates/cli/src/commands/share/profile.rs",
        "files::read_text",
        "a user's own, as himself; root's goes through it",
    ),
    ("crates/cli/src/settings.rs", "files::read_text", "options, of root's or the user's folder"),
    (
        "crates/net/src/tls.rs",
        "files::open_regular",
        "looked at for owner and rights once it is open",
    ),
    ("crates/python/src/calendar.rs", "files::open", "a time zone of the system's"),
    // Recordings as plain files, where their user keeps them.
    ("crates/plain/src/flusher.rs", "files::open", "the folder of the recording, to sync it"),
    (
        "crates/plain/src/flusher.rs",
        "files::rename_to_new",
        "an open file, by no path, to a free name",
    ),
    ("crates/plain/src/maker.rs", "files::create_new", RANDOM),
    ("crates/plain/src/maker.rs", "files::is_held", RANDOM),
    ("crates/plain/src/maker.rs", "files::list", RANDOM),
    ("crates/plain/src/maker.rs", "files::open_regular", RANDOM),
    ("crates/plain/src/maker.rs", "files::remove", RANDOM),
    // Traces.
    ("crates/cli/src/commands/trace/install.rs", "fs::canonicalize", "for a sentence"),
    ("crates/cli/src/commands/trace/live.rs", "files::make_folder_with", "new, 0700, for one run"),
    ("crates/cli/src/commands/trace/memory_place.rs", "files::is_held", CHECKED),
    ("crates/cli/src/commands/trace/memory_place.rs", "files::list", CHECKED),
    ("crates/cli/src/commands/trace/record.rs", "files::is_held", KEEP),
    ("crates/cli/src/commands/trace/record.rs", "files::list", KEEP),
    ("crates/cli/src/commands/trace/slow.rs", "files::read_text", KERNEL),
    ("crates/probes/src/btf.rs", "files::open", KERNEL),
    ("crates/trace/src/collect.rs", "files::read_text", "the kernel's options, in /boot"),
    ("crates/trace/src/collect/", "files::list", KERNEL),
    ("crates/trace/src/collect/", "files::read_text", KERNEL),
    ("crates/trace/src/collect/session.rs", "files::create_new", TRACE),
    ("crates/trace/src/collect/session.rs", "files::remove", TRACE),
    ("crates/trace/src/collect/session.rs", "files::rename", TRACE),
    ("crates/trace/src/collect/symbols.rs", "files::open", KERNEL),
    // Settings and shares.
    ("crates/cli/src/commands/share/install.rs", "files::list", "only names: units of root's"),
    ("crates/cli/src/commands/tune/here.rs", "files::open", "a block device"),
    ("crates/share/src/", "files::list", KERNEL),
    ("crates/share/src/", "files::read_text", KERNEL),
    ("crates/share/src/cgroup.rs", "files::make_folder", GROUP),
    ("crates/share/src/cgroup.rs", "files::remove_empty_folder", GROUP),
    ("crates/share/src/reach.rs", "files::open_regular", "the head of a program, for a sentence"),
    ("crates/share/src/reach.rs", "files::size_bytes", "the head of a program, for a sentence"),
    ("crates/tune/src/", "files::list", KERNEL),
    ("crates/tune/src/", "files::read_text", KERNEL),
    ("crates/tune/src/probe.rs", "files::create_new", "writes beside a store, as its user"),
    ("crates/tune/src/probe.rs", "files::remove", "the name of that file at once"),
    // Stores and tables.
    ("crates/lake/src/place.rs", ".canonicalize()", APART),
    (
        "crates/lake/src/place/local.rs",
        "files::make_folder_with",
        "a table, where its user keeps it",
    ),
    ("crates/lake/src/place/s3/client.rs", "files::read_text", "certificates of authorities"),
    ("crates/lake/src/place/s3/keys.rs", "files::read_text", "a user's own keys, as himself"),
    ("crates/recorder/src/inspect.rs", "files::read_text", KERNEL),
    ("crates/recorder/src/ring/found.rs", "files::list", "names of places where rings may be"),
    (
        "crates/recorder/src/ring/gone.rs",
        "files::list",
        "names beside a store, to know if it is gone",
    ),
    ("crates/store/src/backup.rs", ".canonicalize()", APART),
];

const KERNEL: &str = "files of the kernel: /proc, /sys, control groups";
const GROUP: &str = "a control group: the kernel's";
const OWN: &str = "in a folder that it made by a free name, root only where nobody else decides";
const NAMED: &str = "what its user named, to be read with that user's rights";
const REPLACED: &str = "an output that its user named: made beside, no link followed";
const RANDOM: &str = "names that nobody guesses, made as new, with that user's rights";
const CHECKED: &str = "in a folder that StateFolder has made or checked";
const KEEP: &str = "only names: what goes is removed through StateFolder";
const APART: &str = "compares places, opens nothing";
const TRACE: &str =
    "the file that its user names; what the installed tracer keeps has a checked folder";
