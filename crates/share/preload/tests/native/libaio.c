/* Requests of libaio: one event for each, whatever it was cut into. Declares libaio itself, so that its
 * header need not be installed. libaio DIRECTORY CASE. */
#include "check.h"

struct iocb {
    uint64_t data;
    uint32_t key, rw_flags;
    uint16_t opcode;
    int16_t priority;
    uint32_t fd;
    uint64_t buffer, len;
    int64_t offset;
    uint64_t reserved;
    uint32_t flags, event_fd;
};
struct io_event {
    uint64_t data;
    struct iocb *object;
    int64_t result, result2;
};
typedef struct context *io_context_t;
int io_setup(int, io_context_t *);
int io_destroy(io_context_t);
int io_submit(io_context_t, long, struct iocb **);
int io_getevents(io_context_t, long, long, struct io_event *, struct timespec *);
int io_pgetevents(io_context_t, long, long, struct io_event *, struct timespec *, sigset_t *);
int io_cancel(io_context_t, struct iocb *, struct io_event *);

enum { PREAD = 0, PWRITE = 1, PREADV = 7, PWRITEV = 8, EVENT_FD = 1 };
enum { REQUESTS = 16 };
#define LARGE (MB + 3 * BLOCK)

static struct iocb request(int opcode, int fd, void *buffer, size_t len, off_t at, uint64_t data) {
    return (struct iocb){.opcode = opcode, .fd = fd, .buffer = (uintptr_t)buffer, .len = len,
                         .offset = at, .data = data};
}

/* One small read through io_getevents: from then on the context may be cut. */
static io_context_t context_of(int fd) {
    io_context_t context = NULL;
    EQUAL(io_setup(64, &context), 0);
    struct iocb small = request(PREAD, fd, memory(BLOCK), BLOCK, 0, 1), *one = &small;
    struct io_event event;
    EQUAL(io_submit(context, 1, &one), 1);
    EQUAL(io_getevents(context, 1, 1, &event, NULL), 1);
    EQUAL(event.result, BLOCK);
    return context;
}

static size_t size_of(int i) { return i % 3 == 2 ? BLOCK * (i + 1) : LARGE; }

/* Writes, then reads, many at once: sizes, vectors and waits of all kinds. */
static void in_flight(void) {
    struct iocb iocbs[REQUESTS], *list[REQUESTS], was[REQUESTS];
    struct iovec vectors[REQUESTS][9];
    struct io_event events[REQUESTS];
    char *data = memory(REQUESTS * 2 * MB);
    make_file("flight", REQUESTS * 2 * MB, 0);
    int fd = open_file("flight", O_RDWR | O_DIRECT);
    io_context_t context = context_of(fd);
    for (int round = 0; round < 12; round++) {
        int writes = round % 2 == 0, seed = round / 2 + 1;
        for (int i = 0; i < REQUESTS; i++) {
            char *start = data + i * 2 * MB;
            if (writes) fill(start, size_of(i), i * 2 * MB, seed);
            else memset(start, 0xee, 2 * MB);
            iocbs[i] = request(writes ? PWRITE : PREAD, fd, start, size_of(i), i * 2 * MB, i + 100);
            if (i % 4 == 1) {
                size_t part = size_of(i) / BLOCK / 9 * BLOCK;
                for (int v = 0; v < 9; v++)
                    vectors[i][v] = (struct iovec){start + v * part,
                                                   v < 8 ? part : size_of(i) - 8 * part};
                iocbs[i].opcode += 7;
                iocbs[i].buffer = (uintptr_t)vectors[i], iocbs[i].len = 9;
            }
            list[i] = &iocbs[i], was[i] = iocbs[i];
        }
        EQUAL(io_submit(context, REQUESTS, list), REQUESTS);
        /* The kernel has copied the vectors; a program may use their memory for something else. */
        memset(vectors, 0xff, sizeof vectors);
        int got = 0, counts[REQUESTS] = {0};
        while (got < REQUESTS) {
            struct timespec short_time = {0, 2000000}, *limit = round % 3 ? NULL : &short_time;
            int least = round % 3 == 1 ? REQUESTS - got : round % 3 == 2 ? 1 : 0;
            int n = round % 4 == 3
                        ? io_pgetevents(context, least, REQUESTS - got, events, limit, NULL)
                        : io_getevents(context, least, REQUESTS - got, events, limit);
            CHECK(n >= least && n <= REQUESTS - got);
            for (int e = 0; e < n; e++) {
                int i = events[e].data - 100;
                CHECK(i >= 0 && i < REQUESTS && counts[i]++ == 0);
                CHECK(events[e].object == &iocbs[i] && events[e].result2 == 0);
                EQUAL(events[e].result, size_of(i));
                CHECK(memcmp(&iocbs[i].rw_flags, &was[i].rw_flags, sizeof was[i] - 12) == 0);
                if (!writes) CHECK(is_filled(data + i * 2 * MB, size_of(i), i * 2 * MB, seed));
            }
            got += n;
        }
        struct timespec none = {0, 0};
        EQUAL(io_getevents(context, 1, REQUESTS, events, &none), 0);
    }
    EQUAL(io_destroy(context), 0);
}

static io_context_t common;
/* A request goes from thread to thread through the kernel, which no sanitizer sees: it sees `handed`. */
static int common_fd, to_come, handed;
/* Freed when all threads are joined: the submitter still looks at a request before it is handed over. */
static struct iocb *reaped[80];
static int reaped_count;

static void *submitter(void *number) {
    for (int i = 0; i < 20; i++) {
        struct iocb *one = malloc(sizeof *one);
        off_t at = ((uintptr_t)number * 20 + i) % 8 * 2 * MB;
        *one = request(PREAD, common_fd, memory(2 * MB), i % 5 ? LARGE : BLOCK, at, at);
        __atomic_fetch_add(&handed, 1, __ATOMIC_RELEASE);
        int taken;
        while ((taken = io_submit(common, 1, &one)) == -EAGAIN) usleep(100);
        EQUAL(taken, 1);
    }
    return NULL;
}

static void *collector(void *none) {
    struct io_event events[4];
    while (__atomic_load_n(&to_come, __ATOMIC_RELAXED) > 0) {
        struct timespec limit = {0, 5000000};
        int n = io_getevents(common, 1, 4, events, &limit);
        CHECK(n >= 0 && __atomic_load_n(&handed, __ATOMIC_ACQUIRE) > 0);
        for (int e = 0; e < n; e++) {
            struct iocb *one = events[e].object;
            EQUAL(events[e].result, one->len);
            EQUAL(one->offset, events[e].data);
            CHECK(is_filled((void *)(uintptr_t)one->buffer, one->len, one->offset, 3));
            munmap((void *)(uintptr_t)one->buffer, 2 * MB);
            reaped[__atomic_fetch_add(&reaped_count, 1, __ATOMIC_RELAXED)] = one;
        }
        __atomic_fetch_sub(&to_come, n, __ATOMIC_RELAXED);
    }
    return none;
}

/* Several threads submit and several reap on one context. */
static void threads(void) {
    pthread_t all[6];
    make_file("together", 18 * MB, 3);
    common_fd = open_file("together", O_RDONLY | O_DIRECT);
    common = context_of(common_fd);
    to_come = 80;
    for (uintptr_t i = 0; i < 6; i++)
        CHECK(pthread_create(&all[i], NULL, i < 4 ? submitter : collector, (void *)i) == 0);
    for (int i = 0; i < 6; i++) CHECK(pthread_join(all[i], NULL) == 0);
    EQUAL(to_come, 0);
    EQUAL(reaped_count, 80);
    for (int i = 0; i < reaped_count; i++) free(reaped[i]);
    EQUAL(io_destroy(common), 0);
}

/* A context that is destroyed has done what was submitted. */
static void destroyed(void) {
    char *data = memory(8 * MB);
    fill(data, 8 * MB, 0, 7);
    make_file("destroyed", 8 * MB, 1);
    int fd = open_file("destroyed", O_RDWR | O_DIRECT);
    io_context_t context = context_of(fd);
    struct iocb iocbs[4], *list[4];
    for (int i = 0; i < 4; i++) {
        iocbs[i] = request(PWRITE, fd, data + i * 2 * MB, 2 * MB, i * 2 * MB, i);
        list[i] = &iocbs[i];
    }
    EQUAL(io_submit(context, 4, list), 4);
    EQUAL(io_destroy(context), 0);
    check_file("destroyed", 8 * MB, 7);
}

/* The end of a file, errors, what the kernel does not take, and another reader of the ring. */
static void edges(void) {
    char *data = memory(4 * MB);
    struct io_event event;
    make_file("edges", MB + 100, 2);
    int fd = open_file("edges", O_RDWR | O_DIRECT);
    io_context_t context = context_of(fd);
    struct iocb first = request(PREAD, fd, data, 4 * MB, 0, 1), *one = &first;
    EQUAL(io_submit(context, 1, &one), 1);
    EQUAL(io_getevents(context, 1, 1, &event, NULL), 1);
    EQUAL(event.result, MB + 100);
    EQUAL(first.len, 4 * MB);
    CHECK(is_filled(data, MB, 0, 2));
    /* Bad buffers: at once, and after progress. */
    struct iocb nowhere = request(PREAD, fd, (void *)4096, MB, 0, 2);
    one = &nowhere;
    int taken = io_submit(context, 1, &one);
    if (taken == 1) {
        EQUAL(io_getevents(context, 1, 1, &event, NULL), 1);
        EQUAL(event.result, -EFAULT);
    } else {
        EQUAL(taken, -EFAULT);
    }
    EQUAL(nowhere.len, MB);
    char *half = memory(MB);
    CHECK(munmap(half + 512 * KB, 512 * KB) == 0);
    struct iocb torn = request(PREAD, fd, half, MB, 0, 3);
    one = &torn;
    taken = io_submit(context, 1, &one);
    if (taken != 1) EQUAL(event.result = taken, -EFAULT);
    else EQUAL(io_getevents(context, 1, 1, &event, NULL), 1);
    CHECK(event.result == (is_cut() ? (long)(512 * KB) : -EFAULT) && torn.len == MB);
    /* The second of two is refused: only the first is under way, the second is as it was. */
    struct iocb good = request(PREAD, fd, data, MB, 0, 4), bad = good, *two[2] = {&good, &bad};
    bad.priority = 0, bad.reserved = 1;
    EQUAL(io_submit(context, 2, two), 1);
    EQUAL(bad.len, MB);
    EQUAL(io_getevents(context, 1, 2, &event, NULL), 1);
    CHECK(event.object == &good && event.result == MB);
    EQUAL(io_submit(context, 1, &two[1]), -EINVAL);
    EQUAL(io_cancel(context, &good, &event), -EINVAL);
    /* A program that takes the event of a piece from the kernel itself sees a short read. */
    EQUAL(io_submit(context, 1, &two[0]), 1);
    EQUAL(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL), 1);
    CHECK(event.object == &good && event.result > 0 && (event.result < (long)MB) == is_cut());
    good = request(PREAD, fd, data, MB, 0, 5);
    for (int i = 0; i < 2; i++) {
        /* From then on it is left alone. */
        EQUAL(io_submit(context, 1, &two[0]), 1);
        EQUAL(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL), 1);
        EQUAL(event.result, MB);
    }
    EQUAL(io_destroy(context), 0);
    EQUAL(io_destroy(context), -EINVAL);
    /* Arguments that are none. */
    context = context_of(fd);
    EQUAL(io_getevents(context, -1, 1, &event, NULL), -EINVAL);
    EQUAL(io_getevents(context, 2, 1, &event, NULL), -EINVAL);
    EQUAL(io_submit(context, -1, two), -EINVAL);
    EQUAL(io_submit(context, 0, two), 0);
    /* A piece that was taken behind our back is no reason to wait for ever at the end. */
    EQUAL(io_submit(context, 1, &two[0]), 1);
    EQUAL(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL), 1);
    EQUAL(io_destroy(context), 0);
}

/* Before anything was reaped, and with an eventfd, requests are left alone. */
static void left_alone(void) {
    char *data = memory(MB);
    struct io_event event;
    make_file("alone", MB, 2);
    int fd = open_file("alone", O_RDONLY | O_DIRECT);
    io_context_t context = NULL;
    EQUAL(io_setup(8, &context), 0);
    struct iocb first = request(PREAD, fd, data, MB, 0, 1), *one = &first;
    EQUAL(io_submit(context, 1, &one), 1);
    EQUAL(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL), 1);
    EQUAL(event.result, MB);
    EQUAL(io_submit(context, 1, &one), 1);
    EQUAL(io_getevents(context, 1, 1, &event, NULL), 1);
    EQUAL(event.result, MB);
    int told = syscall(SYS_eventfd2, 0, 0);
    CHECK(told >= 0);
    first.flags = EVENT_FD, first.event_fd = told;
    EQUAL(io_submit(context, 1, &one), 1);
    uint64_t times;
    EQUAL(read(told, &times, 8), 8);
    EQUAL(times, 1);
    EQUAL(io_getevents(context, 1, 1, &event, NULL), 1);
    EQUAL(event.result, MB);
}

/* A child has no context of its parent's, and makes its own. */
static void forked(void) {
    char *data = memory(2 * MB);
    struct io_event event;
    make_file("forked", 2 * MB, 2);
    int status, fd = open_file("forked", O_RDONLY | O_DIRECT);
    io_context_t context = context_of(fd);
    struct iocb first = request(PREAD, fd, data, 2 * MB, 0, 1), *one = &first;
    EQUAL(io_submit(context, 1, &one), 1);
    if (fork() == 0) {
        EQUAL(first.len, 2 * MB);
        io_context_t own = context_of(fd);
        EQUAL(io_submit(own, 1, &one), 1);
        EQUAL(io_getevents(own, 1, 1, &event, NULL), 1);
        EQUAL(event.result, 2 * MB);
        CHECK(is_filled(data, 2 * MB, 0, 2));
        _exit(0);
    }
    EQUAL(io_getevents(context, 1, 1, &event, NULL), 1);
    EQUAL(event.result, 2 * MB);
    CHECK(is_filled(data, 2 * MB, 0, 2));
    CHECK(wait(&status) > 0 && status == 0);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    directory = argv[1];
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"in_flight", in_flight}, {"threads", threads},       {"destroyed", destroyed},
                 {"edges", edges},         {"left_alone", left_alone}, {"forked", forked}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[2], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}
