#!/usr/bin/env python3
"""Reads a Perfetto trace with the classes that Perfetto publishes, and prints what is in it.

    scripts/perfetto-counts.py FILE...

An independent check of what baro-trace writes: fails if a field is unknown to Perfetto, an event is on
a track that nobody described or by a clock that nobody tied to the others, a slice ends that had not
begun, or a counter is on a track that is none. Needs no network, but two packages:

    pip install perfetto==0.59.1 protobuf==7.36.2
"""

import collections
import json
import sys

from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

EVENT = proto.TrackEvent


def unknown(message):
    """How many fields of a message, and of those in it, Perfetto does not know."""
    count = len(unknown_fields.UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type:
            count += sum(map(unknown, value if field.is_repeated else [value]))
    return count


def counts(path):
    with open(path, "rb") as file:
        trace = proto.Trace.FromString(file.read())
    assert unknown(trace) == 0, "fields that Perfetto does not know"
    tracks, clocks, events = {}, set(), []
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id
        kind = packet.WhichOneof("data")
        if kind == "clock_snapshot":
            clocks.update(clock.clock_id for clock in packet.clock_snapshot.clocks)
        elif kind == "track_descriptor":
            track = packet.track_descriptor
            assert track.uuid not in tracks, "a track is described twice"
            assert not track.parent_uuid or track.parent_uuid in tracks, "its upper track is unknown"
            tracks[track.uuid] = track
        else:
            assert kind == "track_event", kind
            assert packet.timestamp_clock_id in clocks, "a clock that is not tied"
            events.append(packet)
    # As a viewer does: by time, what happens at once in the order of the file.
    events.sort(key=lambda packet: packet.timestamp)
    open_slices = collections.Counter()
    types, categories, flows = (collections.Counter() for _ in range(3))
    for packet in events:
        event = packet.track_event
        track = tracks[event.track_uuid]
        types[EVENT.Type.Name(event.type)] += 1
        categories.update(event.categories)
        flows.update([*event.flow_ids, *event.terminating_flow_ids])
        assert track.HasField("counter") == (event.type == EVENT.TYPE_COUNTER), track.name
        if event.type == EVENT.TYPE_SLICE_BEGIN:
            open_slices[event.track_uuid] += 1
        elif event.type == EVENT.TYPE_SLICE_END:
            open_slices[event.track_uuid] -= 1
            assert open_slices[event.track_uuid] >= 0, "an end without a beginning"
    assert all(ends >= 2 for ends in flows.values()), "an arrow with one end"
    return {
        "file": path,
        "tracks": len(tracks),
        "events": dict(types),
        "not_ended": open_slices.total(),
        "arrows": len(flows),
        "categories": dict(sorted(categories.items())),
    }


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        print(json.dumps(counts(path)))


main()
