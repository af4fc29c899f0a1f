/* Records until the supply fails, which SIGTERM stands for here, and then makes durable what is in
 * the ring within the milliseconds that are left:
 *
 *     flush STORE
 *
 * A signal's handler may not flush. So it only posts a semaphore, on which a thread waits. */
#define _POSIX_C_SOURCE 200809L
#include <barograph.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What the capacitors hold. */
enum { LEFT_MS = 5000 };

static sem_t failing;
static baro_recorder *recorder;
static baro_producer *producer;

static void check(int code, const char *call) {
    if (code < 0) {
        fprintf(stderr, "%s: %s (%s)\n", call, baro_last_error(), baro_strerror(code));
        exit(1);
    }
}

static void supply_fails(int number) {
    (void)number;
    sem_post(&failing);
}

/* The loop goes on meanwhile; what it pushes from now on is not waited for. */
static void *save(void *unused) {
    uint64_t left = 0;
    (void)unused;
    while (sem_wait(&failing) != 0) {
    }
    int code = baro_flush(recorder, LEFT_MS * 1000000ull, &left);
    printf("left %llu\n", (unsigned long long)left);
    if (code < 0)
        fprintf(stderr, "%s\n", baro_last_error());
    fflush(stdout);
    _Exit(code == 0 ? 0 : 3);
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: flush STORE\n");
        return 2;
    }
    baro_init_options making = BARO_INIT_OPTIONS_INIT;
    making.flags = BARO_INIT_RECYCLE;
    making.log_bytes = 16 << 20;
    int code = baro_init(arguments[1], &making);
    if (code != BARO_EEXIST)
        check(code, "baro_init");

    /* Without a flush up to 10 s would pass: few writes, for a card that wears out. */
    baro_open_options options = BARO_OPEN_OPTIONS_INIT;
    options.durable_within_ns = 10000000000u;
    check(baro_open(arguments[1], &options, &recorder), "baro_open");
    uint32_t position;
    check(baro_declare(recorder, "position", "mm", NULL, NULL, &position), "baro_declare");
    check(baro_producer_open(recorder, &producer), "baro_producer_open");

    pthread_t saver;
    sem_init(&failing, 0, 0);
    if (pthread_create(&saver, NULL, save, NULL) != 0)
        return 1;
    signal(SIGTERM, supply_fails);

    const struct timespec cycle = {0, 1000000};
    for (long number = 0;; number++) {
        baro_push_sample(producer, position, baro_now_ns(), (double)number, NULL);
        if (number == 100) {
            printf("recording\n");
            fflush(stdout);
        }
        nanosleep(&cycle, NULL);
    }
}
