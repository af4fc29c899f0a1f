/* Writes frames into plain files of at most 1 MB each, as a program does that must leave ordinary
 * files: run-0.bin, run-1.bin and so on in FOLDER.
 *
 *     plain FOLDER [FRAMES]
 *
 * The thread that writes waits for no block to be allocated and for no sync; the end of each file
 * is waited for when the next one is under way. */
#include <barograph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_BYTES = 16384 };

static void check(int code, const char *call) {
    if (code < 0) {
        fprintf(stderr, "%s: %s (%s)\n", call, baro_last_error(), baro_strerror(code));
        exit(1);
    }
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: plain FOLDER [FRAMES]\n");
        return 2;
    }
    long frames = count > 2 ? atol(arguments[2]) : 200;

    baro_plain_options options = BARO_PLAIN_OPTIONS_INIT;
    options.file_bytes = 1000000;
    options.ready = 3;
    baro_plain_pool *pool;
    check(baro_plain_open(arguments[1], &options, &pool), "baro_plain_open");

    baro_plain_file *file = NULL;
    unsigned char frame[FRAME_BYTES];
    int files = 0;
    for (long number = 0; number < frames; number++) {
        uint64_t room = 0;
        if (file != NULL)
            check(baro_plain_room(file, &room), "baro_plain_room");
        if (room < sizeof frame) {
            char name[32];
            /* Null: it is finished by another thread. */
            if (file != NULL)
                check(baro_plain_finish(file, NULL), "baro_plain_finish");
            sprintf(name, "run-%d.bin", files++);
            check(baro_plain_take(pool, name, &file), "baro_plain_take");
        }
        memset(frame, (int)(number & 0xff), sizeof frame);
        check(baro_plain_write(file, frame, sizeof frame), "baro_plain_write");
    }
    uint64_t bytes = 0, waits = 0;
    if (file != NULL)
        check(baro_plain_finish(file, &bytes), "baro_plain_finish");
    check(baro_plain_waits(pool, &waits), "baro_plain_waits");
    /* Tells what failed in files that nobody has waited for. */
    check(baro_plain_close(pool), "baro_plain_close");
    printf("%d files, the last of %llu bytes\n", files, (unsigned long long)bytes);
    if (waits != 0)
        fprintf(stderr, "waited %llu times for a file: keep more ready\n",
                (unsigned long long)waits);
    return 0;
}
