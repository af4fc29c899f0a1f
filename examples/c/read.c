/* Reads a store back: what is in it, record by record, and what was lost.
 *
 *     read STORE [--quiet] */
#include <barograph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int code, const char *call) {
    if (code < 0) {
        fprintf(stderr, "%s: %s (%s)\n", call, baro_last_error(), baro_strerror(code));
        exit(1);
    }
}

static void print_samples(const baro_record *record, const void *payload) {
    baro_sample sample = BARO_SAMPLE_INIT;
    size_t bytes = (size_t)record->payload_bytes;
    for (size_t index = 0;; index++) {
        int more = baro_sample_get(payload, bytes, record->time_ns, index, &sample);
        check(more, "baro_sample_get");
        if (more == 0)
            break;
        printf("  series %u at %lld: %g\n", sample.series, (long long)sample.time_ns,
               sample.value);
    }
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: read STORE [--quiet]\n");
        return 2;
    }
    int quiet = count > 2 && strcmp(arguments[2], "--quiet") == 0;
    baro_reader *reader;
    check(baro_reader_open(arguments[1], &reader), "baro_reader_open");

    baro_series series = BARO_SERIES_INIT;
    char name[1025];
    for (size_t index = 0;; index++) {
        int more = baro_reader_series(reader, index, &series, name, sizeof name);
        check(more, "baro_reader_series");
        if (more == 0)
            break;
        printf("%s %u: %s\n", series.value_type == BARO_CHANNEL ? "channel" : "series", series.id,
               name);
    }

    baro_record record = BARO_RECORD_INIT;
    const void *payload;
    unsigned long frames = 0, batches = 0;
    unsigned long long lost = 0;
    int more;
    while ((more = baro_reader_next(reader, &record, &payload)) > 0) {
        size_t bytes = (size_t)record.payload_bytes;
        if (record.kind == BARO_KIND_FRAME) {
            frames++;
            if (!quiet)
                printf("%lld channel %u record %llu: %zu bytes\n", (long long)record.time_ns,
                       record.channel, (unsigned long long)record.sequence, bytes);
        } else if (record.kind == BARO_KIND_SAMPLES) {
            batches++;
            if (!quiet)
                print_samples(&record, payload);
        } else if (record.kind == BARO_KIND_GAP) {
            baro_gap gap = BARO_GAP_INIT;
            check(baro_gap_get(payload, bytes, &gap), "baro_gap_get");
            lost += gap.ring_full + gap.too_large + gap.damaged + gap.unknown;
        }
    }
    check(more, "baro_reader_next");

    baro_read_report report = BARO_READ_REPORT_INIT;
    check(baro_reader_report(reader, &report), "baro_reader_report");
    printf("frames %lu batches %lu lost %llu damaged_blocks %llu\n", frames, batches, lost,
           (unsigned long long)report.blocks_damaged);
    check(baro_reader_close(reader), "baro_reader_close");
    return lost > 0 || report.blocks_damaged > 0 ? 3 : 0;
}
