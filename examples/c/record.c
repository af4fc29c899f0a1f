/* Records a frame of control data and two samples every 5 ms, as a control loop would:
 *
 *     record STORE [CYCLES [LOG_MIB]]
 *
 * Makes the store if there is none. The loop never waits for the disk: a push copies into a ring
 * in shared memory, and a thread of the library's writes it out. */
#define _POSIX_C_SOURCE 200809L
#include <barograph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CYCLE_NS = 5000000, FRAME_BYTES = 16384 };

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

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: record STORE [CYCLES [LOG_MIB]]\n");
        return 2;
    }
    const char *store = arguments[1];
    long cycles = count > 2 ? atol(arguments[2]) : 1000;

    baro_init_options making = BARO_INIT_OPTIONS_INIT;
    making.flags = BARO_INIT_RECYCLE;
    making.log_bytes = (uint64_t)(count > 3 ? atol(arguments[3]) : 256) << 20;
    int code = baro_init(store, &making);
    if (code != BARO_EEXIST)
        check(code, "baro_init");

    /* A board's figures: a ring that covers 5 s at 3.2 MB/s. */
    baro_open_options options = BARO_OPEN_OPTIONS_INIT;
    options.ring_bytes = 16 << 20;
    options.record_bytes_max = 64 << 10;
    options.fifo = 50;
    baro_recorder *recorder;
    check(baro_open(store, &options, &recorder), "baro_open");
    char said[4096];
    if (baro_reservations(recorder, said, sizeof said) > 0)
        fprintf(stderr, "what does not hold here:\n%s\n", said);

    /* Declaring waits for the disk once; ids are for pushes. */
    uint32_t control, series[2];
    baro_declare_options channel = BARO_DECLARE_OPTIONS_INIT;
    channel.value_type = BARO_CHANNEL;
    check(baro_declare(recorder, "control", NULL, NULL, &channel, &control), "baro_declare");
    const char *names[2] = {"position{axis=\"x\"}", "position{axis=\"y\"}"};
    const char *units[2] = {"mm", "mm"};
    check(baro_declare_many(recorder, names, units, NULL, 2, series), "baro_declare_many");

    baro_producer *producer;
    check(baro_producer_open(recorder, &producer), "baro_producer_open");
    static unsigned char frame[FRAME_BYTES];
    unsigned long refused = 0;
    uint64_t last = 0;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long cycle = 0; cycle < cycles; cycle++) {
        int64_t now_ns = baro_now_ns();
        memset(frame, (int)(cycle & 0xff), sizeof frame);
        memcpy(frame, &cycle, sizeof cycle);
        double position[2] = {(double)cycle, (double)-cycle};
        refused += baro_push_frame(producer, control, now_ns, frame, sizeof frame, &last) != 0;
        refused += baro_push_samples(producer, now_ns, series, position, 2, &last) != 0;
        wait_until(&next);
    }

    /* Only now, outside of the loop, may anything wait. */
    check(baro_producer_wait_durable(producer, last, 60000000000u), "baro_producer_wait_durable");
    baro_ring_report ring = BARO_RING_REPORT_INIT;
    check(baro_producer_report(producer, &ring), "baro_producer_report");
    check(baro_producer_close(producer), "baro_producer_close");
    baro_status status = BARO_STATUS_INIT;
    check(baro_close(recorder, &status), "baro_close");
    printf("records %llu refused %lu durable %llu left %llu\n", (unsigned long long)ring.offered,
           refused, (unsigned long long)ring.durable, (unsigned long long)status.left);
    return refused > 0 || status.left > 0 ? 3 : 0;
}
