/* Two processes: one records, the other pushes into its ring. The recorder's process could be
 * `baro record`, a service, or, as here, the parent.
 *
 *     attach STORE [RECORDS]
 *
 * The ring is shared memory: what the producer has pushed survives its crash, and the recorder's. */
#define _POSIX_C_SOURCE 200809L
#include <barograph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int code, const char *call) {
    if (code < 0) {
        fprintf(stderr, "%s: %s (%s)\n", call, baro_last_error(), baro_strerror(code));
        exit(1);
    }
}

/* The program started again with the ring's path: a process of its own. */
static int produce(const char *ring, const char *channel, long records) {
    baro_producer *producer;
    check(baro_attach(ring, &producer), "baro_attach");
    uint64_t last = 0;
    for (long number = 0; number < records; number++) {
        int code = baro_push_frame(producer, (uint32_t)atol(channel), baro_now_ns(), &number,
                                   sizeof number, &last);
        if (code < 0) {
            fprintf(stderr, "push %ld: %s\n", number, baro_strerror(code));
            return 1;
        }
    }
    check(baro_producer_wait_durable(producer, last, 60000000000u), "baro_producer_wait_durable");
    check(baro_producer_close(producer), "baro_producer_close");
    return 0;
}

int main(int count, char **arguments) {
    if (count == 5 && strcmp(arguments[1], "--produce") == 0)
        return produce(arguments[2], arguments[3], atol(arguments[4]));
    if (count < 2) {
        fprintf(stderr, "usage: attach STORE [RECORDS]\n");
        return 2;
    }
    long records = count > 2 ? atol(arguments[2]) : 1000;

    baro_init_options making;
    memset(&making, 0, sizeof making);
    making.type_size = sizeof making;
    making.log_bytes = 64 << 20;
    int code = baro_init(arguments[1], &making);
    if (code != BARO_EEXIST)
        check(code, "baro_init");
    baro_recorder *recorder;
    check(baro_open(arguments[1], NULL, &recorder), "baro_open");
    uint32_t id;
    baro_declare_options channel;
    memset(&channel, 0, sizeof channel);
    channel.type_size = sizeof channel;
    channel.value_type = BARO_CHANNEL;
    check(baro_declare(recorder, "attached", NULL, NULL, &channel, &id), "baro_declare");
    char ring[4096], id_text[16], records_text[32];
    check(baro_ring_for_attach(recorder, ring, sizeof ring), "baro_ring_for_attach");
    snprintf(id_text, sizeof id_text, "%u", id);
    snprintf(records_text, sizeof records_text, "%ld", records);

    pid_t child = fork();
    if (child == 0) {
        /* Where binaries of another machine are emulated, the emulator goes first. */
        const char *runner = getenv("BARO_RUN");
        if (runner != NULL && *runner != 0)
            execlp(runner, runner, arguments[0], "--produce", ring, id_text, records_text,
                   (char *)NULL);
        execl(arguments[0], arguments[0], "--produce", ring, id_text, records_text, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    check(baro_close(recorder, NULL), "baro_close");
    printf("producer ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
