/* Syncs that do nothing, for the control "a store whose fdatasync is left out": the judge must then
 * find losses. The recorder opens without O_SYNC and O_DSYNC and writes with pwrite, so that there
 * are no flags to strip; names in folders go through fsync.
 *
 * With NOSYNC_WHEN=FILE in the environment they do nothing only once that file is there: with the
 * store's file "lock", which the recorder makes, init is durable and only what is recorded is not.
 *
 * Preload it into a program that is linked dynamically (LD_PRELOAD does nothing in a static one):
 * cc -shared -fPIC -O2 -o nosync.so nosync.c */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int off(void)
{
	const char *when = getenv("NOSYNC_WHEN");
	return !when || access(when, F_OK) == 0;
}

int fdatasync(int file) { return off() ? 0 : (int)syscall(SYS_fdatasync, file); }
int fsync(int file) { return off() ? 0 : (int)syscall(SYS_fsync, file); }
int syncfs(int file) { return off() ? 0 : (int)syscall(SYS_syncfs, file); }
void sync(void) { if (!off()) syscall(SYS_sync); }
int sync_file_range(int file, off64_t offset, off64_t bytes, unsigned flags)
{
	return off() ? 0 : (int)syscall(SYS_sync_file_range, file, offset, bytes, flags);
}
