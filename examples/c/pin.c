/* Records a ramp of 1000 samples a second and keeps what led up to a limit: a window of 200 ms
 * before to 100 ms after, which stays when the log has long been recycled.
 *
 *     pin STORE [SAMPLES [LIMIT]]
 *
 * Lists the pin then, and reads its window back. */
#define _POSIX_C_SOURCE 200809L
#include <barograph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CYCLE_NS = 1000000, PATIENCE_MS = 10000 };

static void check(int code, const char *call) {
    if (code < 0) {
        fprintf(stderr, "%s: %s (%s)\n", call, baro_last_error(), baro_strerror(code));
        exit(1);
    }
}

static void wait_until(struct timespec *next) {
    next->tv_nsec += CYCLE_NS;
    if (next->tv_nsec >= 1000000000) {
        next->tv_nsec -= 1000000000;
        next->tv_sec += 1;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL) != 0) {
    }
}

static void record(const char *store, long samples, double limit) {
    baro_recorder *recorder;
    check(baro_open(store, NULL, &recorder), "baro_open");
    uint32_t ramp;
    check(baro_declare(recorder, "ramp", "mm", NULL, NULL, &ramp), "baro_declare");

    baro_pin_options window = BARO_PIN_OPTIONS_INIT;
    window.before_ns = 200000000;
    window.after_ns = 100000000;
    strcpy(window.name, "over the limit");
    check(baro_pin_when(recorder, "ramp", BARO_ABOVE, limit, &window), "baro_pin_when");

    baro_producer *producer;
    check(baro_producer_open(recorder, &producer), "baro_producer_open");
    uint64_t last = 0;
    int64_t start_ns = baro_now_ns();
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long number = 0; number < samples; number++) {
        wait_until(&next);
        /* The time of the cycle, not of the push. */
        int64_t time_ns = start_ns + number * CYCLE_NS;
        int code = baro_push_sample(producer, ramp, time_ns, (double)number, &last);
        if (code < 0)
            fprintf(stderr, "push %ld: %s\n", number, baro_strerror(code));
    }
    check(baro_producer_wait_durable(producer, last, 60000000000u), "baro_producer_wait_durable");
    check(baro_producer_close(producer), "baro_producer_close");

    /* A pin is open until everything of its window is durable. */
    baro_pin_info pin = BARO_PIN_INFO_INIT;
    for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms++) {
        check(baro_pin_get(recorder, 0, &pin), "baro_pin_get");
        if (pin.state == BARO_PIN_WHOLE || pin.state == BARO_PIN_SHORT)
            break;
        clock_gettime(CLOCK_MONOTONIC, &next);
        wait_until(&next);
    }
    int pins = baro_pin_count(recorder);
    check(pins, "baro_pin_count");
    for (int index = 0; index < pins; index++) {
        check(baro_pin_get(recorder, (size_t)index, &pin), "baro_pin_get");
        printf("pin \"%s\": %s, %lld ms%s%s\n", pin.name,
               pin.state == BARO_PIN_WHOLE   ? "whole"
               : pin.state == BARO_PIN_SHORT ? "short"
                                             : "open",
               (long long)((pin.to_ns - pin.from_ns) / 1000000), pin.reason[0] != 0 ? ": " : "",
               pin.reason);
    }
    char said[4096];
    if (baro_complaints(recorder, said, sizeof said) > 0)
        fprintf(stderr, "%s\n", said);
    check(baro_close(recorder, NULL), "baro_close");
}

/* The window of the store's first pin. */
static int read_back(const char *store) {
    baro_reader *reader;
    check(baro_reader_open(store, &reader), "baro_reader_open");
    baro_pin_info pin = BARO_PIN_INFO_INIT;
    int found = baro_reader_pin(reader, 0, &pin);
    check(found, "baro_reader_pin");
    if (found == 0) {
        fprintf(stderr, "no value went beyond the limit\n");
        return 3;
    }
    baro_record record = BARO_RECORD_INIT;
    baro_sample sample = BARO_SAMPLE_INIT;
    const void *payload;
    long samples = 0, missing = 0;
    double first = 0, last = 0;
    int more;
    while ((more = baro_reader_next(reader, &record, &payload)) > 0) {
        if (record.kind != BARO_KIND_SAMPLES || record.time_ns < pin.from_ns ||
            record.time_ns >= pin.to_ns)
            continue;
        size_t bytes = (size_t)record.payload_bytes;
        check(baro_sample_get(payload, bytes, record.time_ns, 0, &sample), "baro_sample_get");
        if (samples == 0)
            first = sample.value;
        else
            missing += (long)(sample.value - last) - 1;
        last = sample.value;
        samples++;
    }
    check(more, "baro_reader_next");
    printf("samples %ld from %g to %g, missing %ld\n", samples, first, last, missing);
    check(baro_reader_close(reader), "baro_reader_close");
    return missing != 0 ? 3 : 0;
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: pin STORE [SAMPLES [LIMIT]]\n");
        return 2;
    }
    const char *store = arguments[1];
    long samples = count > 2 ? atol(arguments[2]) : 2000;
    double limit = count > 3 ? atof(arguments[3]) : 1500;

    /* Two segments now; the others are added while recording. */
    baro_init_options making = BARO_INIT_OPTIONS_INIT;
    making.flags = BARO_INIT_RECYCLE | BARO_INIT_GROW;
    making.log_bytes = 64 << 20;
    int code = baro_init(store, &making);
    if (code != BARO_EEXIST)
        check(code, "baro_init");
    record(store, samples, limit);
    return read_back(store);
}
