//! The structures with their fields, offsets and sizes, as Rust lays them out.

use std::mem::offset_of;

pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

pub(crate) struct Structure {
    pub(crate) name: &'static str,
    pub(crate) bytes: usize,
    pub(crate) fields: Vec<Field>,
}

fn bytes_of<S, T>(_: fn(&S) -> &T) -> usize {
    size_of::<T>()
}

macro_rules! structures {
    ($($name:ident { $($field:ident)* })*) => {
        vec![$(Structure {
            name: stringify!($name),
            bytes: size_of::<baro::$name>(),
            fields: vec![$(Field {
                name: stringify!($field),
                offset: offset_of!(baro::$name, $field),
                bytes: bytes_of(|s: &baro::$name| &s.$field),
            }),*],
        }),*]
    };
}

pub(crate) fn structures() -> Vec<Structure> {
    structures! {
        baro_init_options { type_size flags log_bytes }
        baro_open_options {
            type_size flags durable_within_ns ring_bytes record_bytes_max block_bytes
            keep_bytes keep_ns min_free_bytes cpu fifo ring_folder
        }
        baro_declare_options { type_size value_type }
        baro_status {
            type_size trouble session blocks durable_blocks device_bytes padding_bytes
            payload_bytes records lost syncs failures longest_write_ns longest_sync_ns
            longest_durable_ns memory_bytes left segments_started segments_suspect rings
            rings_broken segments_grown segments_target
        }
        baro_pin_options { type_size flags before_ns after_ns name }
        baro_pin_info { type_size state id from_ns to_ns moment_ns name reason }
        baro_ring_report {
            type_size closed producer offered refused_full refused_large written durable
            used_bytes capacity_bytes record_bytes_max
        }
        baro_record {
            type_size kind session producer sequence time_ns payload_bytes channel reserved
        }
        baro_sample { type_size series time_ns value integer }
        baro_gap { type_size reserved ring_full too_large damaged unknown }
        baro_event { type_size kind count id state reserved }
        baro_series { type_size id value_type reserved }
        baro_read_report { type_size series records blocks blocks_damaged blocks_recycled }
        baro_plain_options { type_size ready file_bytes unit_bytes }
    }
}
