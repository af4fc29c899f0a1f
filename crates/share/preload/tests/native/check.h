/* What the programs of these tests share: checks that name their line, and blocks that know their place. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define KB 1024ul
#define MB (1024ul * 1024)
#define BLOCK 4096ul

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__,         \
                    #condition, errno);                                                   \
            _exit(1);                                                                     \
        }                                                                                 \
    } while (0)

#define EQUAL(found, expected)                                                            \
    do {                                                                                  \
        long found_ = (long)(found), expected_ = (long)(expected);                        \
        if (found_ != expected_) {                                                        \
            fprintf(stderr, "%s:%d: %s is %ld, expected %ld (errno %d)\n", __FILE__,      \
                    __LINE__, #found, found_, expected_, errno);                          \
            _exit(1);                                                                     \
        }                                                                                 \
    } while (0)

static char *directory;

/* Each program also runs without the library, where all must be right as well. */
static inline int is_cut(void) { return getenv("BARO_SHARE") != NULL; }

static inline void *memory(size_t bytes) {
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(start != MAP_FAILED);
    return start;
}

/* Fills whole blocks so that each word says its offset in the file, and a seed. */
static inline void fill(void *start, size_t bytes, uint64_t offset, uint64_t seed) {
    uint64_t *words = start;
    for (size_t i = 0; i < bytes / 8; i++) words[i] = (offset + i * 8) * 31 + seed;
}

static inline int is_filled(const void *start, size_t bytes, uint64_t offset, uint64_t seed) {
    const uint64_t *words = start;
    for (size_t i = 0; i < bytes / 8; i++)
        if (words[i] != (offset + i * 8) * 31 + seed) return 0;
    return 1;
}

static inline const char *path_of(const char *name) {
    static __thread char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static inline int open_file(const char *name, int flags) {
    int fd = open(path_of(name), flags | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    return fd;
}

/* A file of so many bytes, written in calls that are too small to be cut. */
static inline void make_file(const char *name, size_t bytes, uint64_t seed) {
    int fd = open_file(name, O_CREAT | O_TRUNC | O_WRONLY);
    uint64_t block[BLOCK / 8];
    for (size_t at = 0; at < bytes; at += BLOCK) {
        size_t len = bytes - at < BLOCK ? bytes - at : BLOCK;
        fill(block, BLOCK, at, seed);
        EQUAL(write(fd, block, len), len);
    }
    CHECK(fsync(fd) == 0);
    close(fd);
}

/* Whether the file has these bytes, read in calls that are too small to be cut. */
static inline void check_file(const char *name, size_t bytes, uint64_t seed) {
    int fd = open_file(name, O_RDONLY);
    uint64_t block[BLOCK / 8];
    for (size_t at = 0; at < bytes; at += BLOCK) {
        size_t len = bytes - at < BLOCK ? bytes - at : BLOCK;
        EQUAL(pread(fd, block, BLOCK, at), len);
        CHECK(is_filled(block, len, at, seed));
    }
    EQUAL(pread(fd, block, BLOCK, bytes), 0);
    close(fd);
}
