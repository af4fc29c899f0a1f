/* Each member of the families of read and write on direct files, and what must not be cut.
 * families DIRECTORY CASE; ends with 0 if all is as POSIX and Linux say. */
#include "check.h"

#define TOTAL (3 * MB + 5 * BLOCK)

ssize_t preadv64v2(int, const struct iovec *, int, off64_t, int);
ssize_t pwritev64v2(int, const struct iovec *, int, off64_t, int);

static int list_of(struct iovec *list, char *start, size_t bytes, int most) {
    static const int blocks[] = {1, 40, 3, 17, 2, 100, 1, 1, 9, 64};
    int n = 0;
    size_t at = 0;
    while (at < bytes) {
        size_t len = (n % 7 == 3) ? 0 : blocks[n % 10] * BLOCK;
        if (len > bytes - at || n == most - 1) len = bytes - at;
        list[n++] = (struct iovec){start + at, len};
        at += len;
    }
    return n;
}

enum { POSITION, OFFSET };

static ssize_t write_by(int member, int fd, char *data, size_t len, off_t at, int *kind) {
    struct iovec list[600];
    int n = list_of(list, data, len, 600);
    *kind = OFFSET;
    switch (member) {
    case 0: *kind = POSITION; return write(fd, data, len);
    case 1: return pwrite(fd, data, len, at);
    case 2: return pwrite64(fd, data, len, at);
    case 3: *kind = POSITION; return writev(fd, list, n);
    case 4: return pwritev(fd, list, n, at);
    case 5: return pwritev64(fd, list, n, at);
    case 6: return pwritev2(fd, list, n, at, 0);
    case 7: *kind = POSITION; return pwritev2(fd, list, n, -1, 0);
    case 8: return pwritev64v2(fd, list, n, at, 0);
    default: *kind = POSITION; return pwritev64v2(fd, list, n, -1, 0);
    }
}

static ssize_t read_by(int member, int fd, char *data, size_t len, off_t at, int *kind) {
    struct iovec list[600];
    int n = list_of(list, data, len, 600);
    *kind = OFFSET;
    switch (member) {
    case 0: *kind = POSITION; return read(fd, data, len);
    case 1: return pread(fd, data, len, at);
    case 2: return pread64(fd, data, len, at);
    case 3: *kind = POSITION; return readv(fd, list, n);
    case 4: return preadv(fd, list, n, at);
    case 5: return preadv64(fd, list, n, at);
    case 6: return preadv2(fd, list, n, at, 0);
    case 7: *kind = POSITION; return preadv2(fd, list, n, -1, 0);
    case 8: return preadv64v2(fd, list, n, at, 0);
    default: *kind = POSITION; return preadv64v2(fd, list, n, -1, 0);
    }
}

static void members(void) {
    char *data = memory(TOTAL), *back = memory(TOTAL);
    for (int member = 0; member < 10; member++) {
        off_t at = 16 * BLOCK;
        int kind, fd = open_file("members", O_CREAT | O_TRUNC | O_RDWR | O_DIRECT);
        fill(data, TOTAL, at, member);
        EQUAL(lseek(fd, at, SEEK_SET), at);
        errno = 77;
        EQUAL(write_by(member, fd, data, TOTAL, at, &kind), TOTAL);
        EQUAL(errno, 77);
        EQUAL(lseek(fd, 0, SEEK_CUR), at + (kind == POSITION ? (off_t)TOTAL : 0));
        EQUAL(lseek(fd, at, SEEK_SET), at);
        memset(back, 0xaa, TOTAL);
        errno = 78;
        EQUAL(read_by(member, fd, back, TOTAL, at, &kind), TOTAL);
        EQUAL(errno, 78);
        EQUAL(lseek(fd, 0, SEEK_CUR), at + (kind == POSITION ? (off_t)TOTAL : 0));
        CHECK(memcmp(data, back, TOTAL) == 0);
        close(fd);
        fd = open_file("members", O_RDONLY);
        memset(back, 0, TOTAL);
        for (size_t done = 0; done < TOTAL; done += BLOCK)
            EQUAL(pread(fd, back + done, BLOCK, at + done), BLOCK);
        CHECK(is_filled(back, TOTAL, at, member));
        close(fd);
    }
}

/* A whole read, its end, and what is behind it; with a size that is no multiple of anything. */
static void end_of_file(void) {
    const size_t sizes[] = {MB, MB + 3 * BLOCK, MB + 100, 64 * KB, 70 * KB, 10, 0};
    char *back = memory(4 * MB);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i];
        make_file("end", size, i);
        for (int member = 0; member < 10; member++) {
            int kind, fd = open_file("end", O_RDONLY | O_DIRECT);
            EQUAL(read_by(member, fd, back, 4 * MB, 0, &kind), size);
            CHECK(is_filled(back, size, 0, i));
            EQUAL(lseek(fd, 0, SEEK_CUR), kind == POSITION ? size : 0);
            EQUAL(lseek(fd, 8 * MB, SEEK_SET), 8 * MB);
            EQUAL(read_by(member, fd, back, 4 * MB, 8 * MB, &kind), 0);
            EQUAL(lseek(fd, 0, SEEK_CUR), 8 * MB);
            close(fd);
        }
    }
}

/* What the kernel refuses must be refused with its own error, and change nothing. */
static void refused(void) {
    char *data = memory(4 * MB);
    make_file("refused", MB, 1);
    int kind, reader = open_file("refused", O_RDONLY | O_DIRECT);
    int writer = open_file("refused", O_WRONLY | O_DIRECT);
    for (int member = 0; member < 10; member++) {
        errno = 0;
        CHECK(write_by(member, reader, data, MB, 0, &kind) == -1 && errno == EBADF);
        CHECK(read_by(member, writer, data, MB, 0, &kind) == -1 && errno == EBADF);
        CHECK(read_by(member, 9999, data, MB, 0, &kind) == -1 && errno == EBADF);
        EQUAL(lseek(reader, 0, SEEK_CUR), 0);
    }
    CHECK(pread(reader, data, MB, -4096) == -1 && errno == EINVAL);
    const struct iovec *volatile none = NULL;
    CHECK(preadv(reader, none, 5, 0) == -1 && errno == EFAULT);
    CHECK(readv(reader, (struct iovec *)data, 5000) == -1 && errno == EINVAL);
    /* Through a pointer, where no header knows better. */
    ssize_t (*volatile any_read)(int, void *, size_t) = read;
    CHECK(any_read(reader, data, (size_t)-1) == -1);
    struct iovec huge[2] = {{data, MB}, {data, SIZE_MAX - 4096}};
    CHECK(readv(reader, huge, 2) == -1 && errno == EINVAL);
    /* An address that is not there: the first piece says so. */
    CHECK(pread(reader, (void *)4096, MB, 0) == -1 && errno == EFAULT);
    CHECK(read(reader, (void *)4096, MB) == -1 && errno == EFAULT);
    EQUAL(lseek(reader, 0, SEEK_CUR), 0);
    /* Behind the first pieces: what they did is returned. The kernel itself refuses it whole. */
    char *half = memory(MB);
    CHECK(munmap(half + 512 * KB, 512 * KB) == 0);
    ssize_t done = read(reader, half, MB);
    CHECK(done == (is_cut() ? (ssize_t)(512 * KB) : -1));
    CHECK(done < 0 ? errno == EFAULT : is_filled(half, done, 0, 1));
    EQUAL(lseek(reader, 0, SEEK_CUR), done < 0 ? 0 : done);
    check_file("refused", MB, 1);
}

/* Every reason to leave a large call alone; what it counts is checked by who runs this. */
static void left_alone(void) {
    char *data = memory(MB + BLOCK);
    fill(data, MB, 0, 5);
    make_file("alone", MB, 5);
    int fd = open_file("alone", O_RDWR);
    EQUAL(pwrite(fd, data, MB, 0), MB);
    close(fd);
    fd = open_file("append", O_CREAT | O_TRUNC | O_WRONLY | O_DIRECT | O_APPEND);
    EQUAL(write(fd, data, MB), MB);
    close(fd);
    check_file("append", MB, 5);
    fd = open_file("alone", O_RDWR | O_DIRECT | O_DSYNC);
    EQUAL(pwrite(fd, data, MB, 0), MB);
    close(fd);
    fd = open_file("alone", O_RDWR | O_DIRECT);
    struct iovec list = {data, MB};
    EQUAL(pwritev2(fd, &list, 1, 0, RWF_DSYNC), MB);
    ssize_t appended = pwritev2(fd, &list, 1, 0, RWF_APPEND);
    CHECK(appended == MB || errno == EOPNOTSUPP || errno == EINVAL);
    CHECK(ftruncate(fd, MB) == 0);
    /* Whether the kernel takes these depends on the file system; that we do not cut them is counted. */
    (void)!pread(fd, data + 1, 512 * KB, 0);
    (void)!pread(fd, data, MB - 512, 0);
    (void)!pread(fd, data, 512 * KB, 100);
    EQUAL(lseek(fd, 100, SEEK_SET), 100);
    (void)!read(fd, data, 512 * KB);
    close(fd);
    int ends[2];
    CHECK(pipe(ends) == 0);
    if (fork() == 0) {
        fill(data, MB, 0, 5);
        EQUAL(write(ends[1], data, MB), MB);
        _exit(0);
    }
    close(ends[1]);
    size_t got = 0;
    memset(data, 0, MB);
    for (ssize_t n; (n = read(ends[0], data + got, MB - got + BLOCK)) > 0;) got += n;
    EQUAL(got, MB);
    CHECK(is_filled(data, MB, 0, 5));
    int status;
    CHECK(wait(&status) > 0 && status == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    if (fork() == 0) {
        EQUAL(write(ends[1], data, MB), MB);
        _exit(0);
    }
    close(ends[1]);
    got = 0;
    for (ssize_t n; (n = read(ends[0], data + got, MB - got + BLOCK)) > 0;) got += n;
    EQUAL(got, MB);
    CHECK(wait(&status) > 0 && status == 0);
    check_file("alone", MB, 5);
}

/* A write that a limit makes short is short, also where the limit is the end of a piece. */
static void file_limit(void) {
    char *data = memory(MB);
    fill(data, MB, 0, 3);
    struct rlimit limit = {512 * KB, 512 * KB};
    int fd = open_file("limit", O_CREAT | O_TRUNC | O_WRONLY | O_DIRECT);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    EQUAL(pwrite(fd, data, MB, 0), 512 * KB);
    EQUAL(write(fd, data, MB), 512 * KB);
    EQUAL(lseek(fd, 0, SEEK_CUR), 512 * KB);
    check_file("limit", 512 * KB, 3);
}

/* All that is free and no byte more: progress first, then the error. */
static void no_space(void) {
    char *data = memory(64 * MB);
    fill(data, 64 * MB, 0, 9);
    int fd = open_file("full", O_CREAT | O_TRUNC | O_WRONLY | O_DIRECT);
    size_t total = 0;
    ssize_t done;
    for (errno = 0; (done = write(fd, data + total, 64 * MB - total)) > 0; total += done)
        EQUAL(lseek(fd, 0, SEEK_CUR), total + done);
    CHECK(done == -1 && errno == ENOSPC);
    EQUAL(lseek(fd, 0, SEEK_CUR), total);
    CHECK(total > MB && total < 64 * MB);
    struct stat state;
    CHECK(fstat(fd, &state) == 0);
    close(fd);
    fprintf(stderr, "%zu bytes fit, the file has %ld\n", total, (long)state.st_size);
    EQUAL(state.st_size, total);
    check_file("full", total, 9);
}

/* `directory` is a block device of 16 MB: its end is the end of a read and of a write. */
static void device(void) {
    char *data = memory(20 * MB);
    int fd = open(directory, O_RDWR | O_DIRECT | O_CLOEXEC);
    CHECK(fd >= 0);
    fill(data, 16 * MB, 0, 2);
    EQUAL(write(fd, data, 20 * MB), 16 * MB);
    EQUAL(lseek(fd, 0, SEEK_CUR), 16 * MB);
    CHECK(write(fd, data, MB) == -1 && errno == ENOSPC);
    EQUAL(read(fd, data, MB), 0);
    EQUAL(lseek(fd, 15 * MB + 512, SEEK_SET), 15 * MB + 512);
    memset(data, 0, 20 * MB);
    EQUAL(read(fd, data, 20 * MB), MB - 512);
    CHECK(is_filled(data, MB - 512, 15 * MB + 512, 2));
    EQUAL(lseek(fd, 0, SEEK_CUR), 16 * MB);
    EQUAL(pread(fd, data, 20 * MB, 0), 16 * MB);
    CHECK(is_filled(data, 16 * MB, 0, 2));
}

static void raw(void) {
    char *data = memory(MB);
    make_file("raw", MB, 4);
    int fd = open_file("raw", O_RDONLY | O_DIRECT);
    EQUAL(syscall(SYS_pread64, fd, data, MB, 0L), MB);
    CHECK(is_filled(data, MB, 0, 4));
    EQUAL(syscall(SYS_getpid), getpid());
    /* Six arguments; the last says where in the file. */
    long at = syscall(SYS_mmap, 0L, BLOCK, PROT_READ, MAP_PRIVATE, fd, 64 * BLOCK);
    CHECK(at > 0 && is_filled((void *)at, BLOCK, 64 * BLOCK, 4));
    errno = 0;
    CHECK(syscall(SYS_close, -1) == -1 && errno == EBADF);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    directory = argv[1];
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"members", members},       {"end_of_file", end_of_file}, {"refused", refused},
                 {"left_alone", left_alone}, {"file_limit", file_limit},   {"no_space", no_space},
                 {"device", device},         {"raw", raw}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[2], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}
