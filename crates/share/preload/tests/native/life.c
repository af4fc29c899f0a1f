/* Threads, forks, exec, signals, cancellation, and checked buffers.
 * life DIRECTORY CASE; ends with 0 if all is as it would be without us. */
#include "check.h"

#define CHUNK (256 * KB)
#define CHUNKS 64

static int shared;
static unsigned char seen[CHUNKS];

static void read_chunks(void) {
    char *data = memory(CHUNK);
    for (ssize_t n; (n = read(shared, data, CHUNK)) != 0;) {
        EQUAL(n, CHUNK);
        uint64_t at = *(uint64_t *)data / 31;
        CHECK(at % CHUNK == 0 && at / CHUNK < CHUNKS && is_filled(data, CHUNK, at, 0));
        __atomic_fetch_add(&seen[at / CHUNK], 1, __ATOMIC_RELAXED);
    }
}

static void *reader(void *none) {
    char *data = memory(CHUNK);
    read_chunks();
    /* At the end all give back what they reserved, in any order. */
    for (int i = 0; i < 500; i++) EQUAL(read(shared, data, CHUNK), 0);
    return none;
}

/* Readers of one descriptor get each byte once, and leave it where the file ends. */
static void threads(void) {
    pthread_t all[6];
    make_file("shared", CHUNK * CHUNKS, 0);
    shared = open_file("shared", O_RDONLY | O_DIRECT);
    for (int i = 0; i < 6; i++) CHECK(pthread_create(&all[i], NULL, reader, NULL) == 0);
    for (int i = 0; i < 6; i++) CHECK(pthread_join(all[i], NULL) == 0);
    for (int i = 0; i < CHUNKS; i++) EQUAL(seen[i], 1);
    EQUAL(lseek(shared, 0, SEEK_CUR), CHUNK * CHUNKS);
}

static void *writer(void *number) {
    char *data = memory(CHUNK);
    for (int i = 0; i < 8; i++) {
        for (size_t at = 0; at < CHUNK; at += 8) *(uint64_t *)(data + at) = (uintptr_t)number * 8 + i;
        EQUAL(write(shared, data, CHUNK), CHUNK);
    }
    return NULL;
}

/* Writers of one descriptor write next to each other, never over each other. */
static void writers(void) {
    pthread_t all[6];
    shared = open_file("written", O_CREAT | O_TRUNC | O_RDWR | O_DIRECT);
    for (uintptr_t i = 0; i < 6; i++) CHECK(pthread_create(&all[i], NULL, writer, (void *)i) == 0);
    for (int i = 0; i < 6; i++) CHECK(pthread_join(all[i], NULL) == 0);
    EQUAL(lseek(shared, 0, SEEK_CUR), 48 * CHUNK);
    uint64_t *data = memory(CHUNK);
    for (int i = 0; i < 48; i++) {
        EQUAL(pread(shared, data, CHUNK, i * CHUNK), CHUNK);
        CHECK(data[0] < 48 && seen[data[0]]++ == 0);
        for (size_t word = 0; word < CHUNK / 8; word++) CHECK(data[word] == data[0]);
    }
}

/* Processes that share a descriptor, as threads do. */
static void forks(void) {
    make_file("forked", CHUNK * CHUNKS, 0);
    shared = open_file("forked", O_RDONLY | O_DIRECT);
    unsigned char *together = mmap(NULL, CHUNKS, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            read_chunks();
            for (int c = 0; c < CHUNKS; c++)
                __atomic_fetch_add(&together[c], seen[c], __ATOMIC_RELAXED);
            _exit(0);
        }
    }
    int status;
    for (int i = 0; i < 4; i++) CHECK(wait(&status) > 0 && status == 0);
    for (int i = 0; i < CHUNKS; i++) EQUAL(together[i], 1);
    pid_t child = vfork();
    if (child == 0) _exit(7);
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
}

static volatile int signals, wake[2];

static void on_signal(int number) {
    char block[64];
    int before = errno;
    if (write(wake[1], "x", 1) != 1 || read(wake[0], block, 1) != 1) _exit(9);
    errno = before;
    signals += number != 0;
}

/* Handlers that read and write in the middle of cut calls. */
static void handlers(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    wake[0] = ends[0], wake[1] = ends[1];
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    make_file("handled", 4 * MB, 6);
    char *data = memory(4 * MB);
    int fd = open_file("handled", O_RDONLY | O_DIRECT);
    struct itimerval every = {{0, 300}, {0, 300}};
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
    for (int i = 0; i < 2000 && (signals < 50 || i < 20); i++) {
        memset(data, 0, 4 * MB);
        EQUAL(pread(fd, data, 4 * MB, 0), 4 * MB);
        CHECK(is_filled(data, 4 * MB, 0, 6));
    }
    CHECK(signals >= 50);
}

static void *blocked(void *end) {
    char byte;
    EQUAL(read((int)(intptr_t)end, &byte, 1), 1);
    return NULL;
}

static int busy_calls;

static void *busy(void *none) {
    char *data = memory(4 * MB);
    int fd = open_file("cancelled", O_RDONLY | O_DIRECT);
    for (;;) {
        EQUAL(pread(fd, data, 4 * MB, 0), 4 * MB);
        __atomic_fetch_add(&busy_calls, 1, __ATOMIC_RELAXED);
    }
    return none;
}

/* A thread is cancelled in a call that is passed on, and in one that is cut. */
static void cancelled(void) {
    int ends[2];
    pthread_t thread;
    void *result;
    CHECK(pipe(ends) == 0);
    make_file("cancelled", 4 * MB, 6);
    CHECK(pthread_create(&thread, NULL, blocked, (void *)(intptr_t)ends[0]) == 0);
    usleep(20000);
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(pthread_create(&thread, NULL, busy, NULL) == 0);
    /* One call has ended, however busy the machine is: the next one is cancelled. */
    while (__atomic_load_n(&busy_calls, __ATOMIC_RELAXED) == 0) usleep(1000);
    usleep(50000);
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
}

static char *self;

static void executed(void) {
    execl(self, self, directory, "threads", (char *)NULL);
    CHECK(!"exec failed");
}

/* Built with _FORTIFY_SOURCE, these are __read_chk, __pread_chk and __pread64_chk. */
static void checked(void) {
    static char room[MB] __attribute__((aligned(4096)));
    make_file("checked", MB, 8);
    int fd = open_file("checked", O_RDONLY | O_DIRECT);
    volatile size_t len = MB;
    EQUAL(read(fd, room, len), MB);
    CHECK(is_filled(room, MB, 0, 8));
    memset(room, 0, MB);
    EQUAL(pread(fd, room, len, 0), MB);
    CHECK(is_filled(room, MB, 0, 8));
    EQUAL(pread64(fd, room, len, MB / 2), MB / 2);
    CHECK(is_filled(room, MB / 2, MB / 2, 8));
    for (int member = 0; member < 3; member++) {
        if (fork() == 0) {
            close(2);
            len = MB + BLOCK;
            ssize_t n = member == 0   ? read(fd, room, len)
                        : member == 1 ? pread(fd, room, len, 0)
                                      : pread64(fd, room, len, 0);
            _exit(n >= 0 ? 0 : 1);
        }
        int status;
        CHECK(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

/* A cut call on a stack that is as small as threads may have. */
static void *small_stack(void *none) {
    char *data = memory(MB);
    int fd = open_file("stack", O_RDONLY | O_DIRECT);
    EQUAL(pread(fd, data, MB, 0), MB);
    CHECK(is_filled(data, MB, 0, 8));
    return none;
}

static void stacks(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    make_file("stack", MB, 8);
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, 32 * KB) == 0);
    CHECK(pthread_create(&thread, &attributes, small_stack, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    self = argv[0], directory = argv[1];
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"threads", threads},   {"writers", writers},   {"forks", forks},
                 {"handlers", handlers}, {"cancelled", cancelled}, {"executed", executed},
                 {"checked", checked},   {"stacks", stacks}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[2], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}
