//! The registry: one row per decoder, a module per family of them.

mod backup;
mod blk;
mod calls;
mod dictionary;
mod folder;
mod input;
mod journal;
mod kernel_log;
mod manifest;
mod network;
mod parquet;
mod payloads;
mod promql;
mod registry;
mod request;
mod runs;
mod segment;
mod selector;
mod settings;
mod store;
mod table;
mod trace;
mod zone;

use crate::Target;

/// Every target.
pub const TARGETS: &[Target] = &[
    segment::SEGMENT,
    segment::IDENTITY,
    segment::PIN,
    request::REQUEST,
    request::ANSWER,
    payloads::SAMPLES,
    payloads::SECTION,
    payloads::DECLARATION,
    payloads::NAME,
    dictionary::DICTIONARY,
    payloads::LAYOUT,
    payloads::GAP,
    manifest::MANIFEST,
    runs::PAGE,
    runs::INDEX,
    runs::RUN,
    input::RING,
    input::CSV,
    input::JSON,
    input::INFLUX,
    input::PROMETHEUS,
    input::FRAMES,
    input::UDP,
    network::HTTP,
    network::REMOTE_WRITE,
    network::OTLP,
    network::SNAPPY,
    network::TOKENS,
    trace::FORMAT,
    trace::RING_PAGE,
    trace::FILE,
    trace::EXPLAIN,
    blk::BLKTRACE,
    blk::BLKPARSE,
    blk::PRINTED,
    parquet::PARQUET,
    selector::SELECTOR,
    promql::PROMQL,
    store::STORE,
    journal::JOURNAL,
    kernel_log::KERNEL_LOG,
    registry::REGISTRY,
    settings::SETTINGS,
    settings::PROFILE,
    table::HANDOVER,
    table::VERSION,
    backup::MARK,
    zone::ZONE,
    calls::CALLS_OF_C,
];
