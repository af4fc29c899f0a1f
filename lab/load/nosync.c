/* Syncs that do nothing, for the control "a store whose fdatasync is left out": the judge must then
 * find losses. The recorder writes past the page cache or through it, and nothing else makes it
 * durable: it opens without O_SYNC and O_DSYNC and writes with pwrite, so that there are no flags to
 * strip. Names in folders go through fsync.
 *
 * Preload it into a program that is linked dynamically (LD_PRELOAD does nothing in a static one):
 * cc -shared -fPIC -O2 -o nosync.so nosync.c */
int fdatasync(int file) { (void)file; return 0; }
int fsync(int file) { (void)file; return 0; }
int syncfs(int file) { (void)file; return 0; }
int sync_file_range(int file, long long offset, long long bytes, unsigned flags)
{
	(void)file; (void)offset; (void)bytes; (void)flags;
	return 0;
}
void sync(void) { }
