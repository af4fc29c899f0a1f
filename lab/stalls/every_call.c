/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads that make calls of storage and note of each when it began and ended: the account that a trace is held
 * against by every_call.py. Calls of many kinds, most of them slow, side by side on one disk.
 *
 *     every_call FOLDER SECONDS SEED
 *
 * A line for each call of 5 ms or more: task, call, begin and end (CLOCK_MONOTONIC, ns), what of it was on a
 * processor. The last line has how many calls there were in all.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 24
#define KEPT 20000
#define LONG_NS 5000000
#define FILE_BYTES (16 << 20)

struct made {
	const char *call;
	uint64_t begin_ns, end_ns, run_ns;
};

struct thread {
	pthread_t thread;
	int number, task;
	unsigned seed;
	uint64_t count, kept;
	struct made made[KEPT];
};

static const char *folder;
static uint64_t until_ns;
static struct thread threads[THREADS];

static uint64_t now(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void note(struct thread *t, const char *call, uint64_t begin_ns, uint64_t run_ns)
{
	uint64_t end_ns = now(CLOCK_MONOTONIC);
	t->count++;
	if (end_ns - begin_ns < LONG_NS || t->kept == KEPT)
		return;
	t->made[t->kept++] = (struct made){ call, begin_ns, end_ns, now(CLOCK_THREAD_CPUTIME_ID) - run_ns };
}

/* Makes a call and notes it. */
#define CALL(t, name, made)                                                 \
	({                                                                  \
		uint64_t run_ns = now(CLOCK_THREAD_CPUTIME_ID);             \
		uint64_t begin_ns = now(CLOCK_MONOTONIC);                   \
		long result = (long)(made);                                 \
		note(t, name, begin_ns, run_ns);                            \
		result;                                                     \
	})

static int within(const char *name, int flags)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int file = open(path, flags, 0644);
	if (file < 0)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return file;
}

static unsigned any(struct thread *t, unsigned below)
{
	return rand_r(&t->seed) % below;
}

static void pause_us(unsigned us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };
	nanosleep(&time, 0);
}

/* Past the page cache, again and again the same call. */
static void reads(struct thread *t)
{
	int file = within("data", O_RDONLY | O_DIRECT);
	void *buffer = aligned_alloc(4096, 65536);
	while (now(CLOCK_MONOTONIC) < until_ns) {
		size_t bytes = any(t, 4) ? 4096 : 65536;
		CALL(t, "pread64", pread(file, buffer, bytes, any(t, 200) * 65536L));
	}
}

static void syncs(struct thread *t)
{
	char name[32];
	snprintf(name, sizeof(name), "own%d", t->number);
	int file = within(name, O_CREAT | O_RDWR);
	char data[4096];
	memset(data, t->number, sizeof(data));
	while (now(CLOCK_MONOTONIC) < until_ns) {
		CALL(t, "pwrite64", pwrite(file, data, sizeof(data), any(t, 256) * 4096L));
		if (any(t, 2))
			CALL(t, "fsync", fsync(file));
		else
			CALL(t, "fdatasync", fdatasync(file));
	}
}

/* One folder for all: its lock, opens, renames, removals. */
static void names(struct thread *t)
{
	char one[512], other[512];
	snprintf(one, sizeof(one), "%s/names/a%d", folder, t->number);
	snprintf(other, sizeof(other), "%s/names/b%d", folder, t->number);
	while (now(CLOCK_MONOTONIC) < until_ns) {
		int file = CALL(t, "openat", open(one, O_CREAT | O_WRONLY, 0644));
		CALL(t, "write", write(file, one, 100));
		if (!any(t, 3))
			CALL(t, "fsync", fsync(file));
		CALL(t, "ftruncate", ftruncate(file, any(t, 100000)));
		close(file);
		CALL(t, "rename", rename(one, other));
		CALL(t, "unlink", unlink(other));
	}
}

/* A lock of a file, held for some time. */
static void locks(struct thread *t)
{
	int file = within("lock", O_CREAT | O_RDWR);
	while (now(CLOCK_MONOTONIC) < until_ns) {
		CALL(t, "flock", flock(file, LOCK_EX));
		pause_us(1000 + any(t, 40000));
		flock(file, LOCK_UN);
		pause_us(any(t, 5000));
	}
}

/* Page faults of a file that is taken out of memory again. */
static void faults(struct thread *t)
{
	int file = within("mapped", O_RDONLY);
	volatile char *mapped = mmap(0, FILE_BYTES, PROT_READ, MAP_SHARED, file, 0);
	madvise((void *)mapped, FILE_BYTES, MADV_RANDOM);
	while (now(CLOCK_MONOTONIC) < until_ns) {
		unsigned at = any(t, FILE_BYTES / 4096) * 4096;
		CALL(t, "page fault", mapped[at]);
		madvise((void *)(mapped + at), 4096, MADV_DONTNEED);
		posix_fadvise(file, at, 4096, POSIX_FADV_DONTNEED);
	}
}

static void allocates(struct thread *t)
{
	char name[32];
	snprintf(name, sizeof(name), "room%d", t->number);
	int file = within(name, O_CREAT | O_RDWR);
	while (now(CLOCK_MONOTONIC) < until_ns) {
		CALL(t, "fallocate", fallocate(file, 0, any(t, 64) * 65536L, 1 << 20));
		CALL(t, "sync_file_range", sync_file_range(file, 0, 0, 7));
		CALL(t, "ftruncate", ftruncate(file, 0));
		pause_us(any(t, 20000));
	}
}

static void (*const kinds[])(struct thread *) = { reads, syncs, names, locks, faults, reads, syncs, allocates };

static void *run(void *of)
{
	struct thread *t = of;
	t->task = syscall(SYS_gettid);
	kinds[t->number % (sizeof(kinds) / sizeof(*kinds))](t);
	return 0;
}

int main(int count, char **arguments)
{
	if (count != 4)
		return 2;
	folder = arguments[1];
	until_ns = now(CLOCK_MONOTONIC) + (uint64_t)(atof(arguments[2]) * 1e9);
	for (int i = 0; i < THREADS; i++) {
		threads[i].number = i;
		threads[i].seed = atoi(arguments[3]) * 1000 + i;
		pthread_create(&threads[i].thread, 0, run, &threads[i]);
	}
	uint64_t all = 0;
	for (int i = 0; i < THREADS; i++) {
		struct thread *t = &threads[i];
		pthread_join(t->thread, 0);
		all += t->count;
		for (uint64_t at = 0; at < t->kept; at++) {
			struct made *m = &t->made[at];
			printf("%d\t%s\t%lu\t%lu\t%lu\n", t->task, m->call, m->begin_ns, m->end_ns, m->run_ns);
		}
	}
	printf("all\t%lu\n", all);
	return 0;
}
