/* append PATH COUNT SIZE SYNC [overwrite] [timed]
 *
 * Writes COUNT records of SIZE bytes, each followed by SYNC: none, fsync, fdatasync; with
 * o_dsync the file is opened with O_DSYNC instead.
 * With `overwrite` the file is written and synced once before, and the records go over it.
 * With `timed` it prints the nanoseconds that the records took.
 * I/O on PATH: 1 openat, COUNT writes of SIZE bytes, COUNT syncs (none with o_dsync), 1 close
 * (overwrite: COUNT writes, 1 fsync and 1 lseek more).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int main(int argc, char **argv)
{
	int overwrite = 0, timed = 0;
	long long begun;

	for (int i = 5; i < argc; i++) {
		overwrite |= !strcmp(argv[i], "overwrite");
		timed |= !strcmp(argv[i], "timed");
	}
	if (argc < 5) {
		fprintf(stderr, "append PATH COUNT SIZE none|fsync|fdatasync|o_dsync [overwrite] [timed]\n");
		return 2;
	}
	long count = atol(argv[2]), size = atol(argv[3]);
	int sync = !strcmp(argv[4], "fsync") ? 1 : !strcmp(argv[4], "fdatasync") ? 2 : 0;
	int flags = strcmp(argv[4], "o_dsync") ? 0 : O_DSYNC;
	char *record = malloc(size * count);
	int fd = open(argv[1], O_CREAT | O_WRONLY | flags, 0644);

	if (fd < 0 || !record)
		return 1;
	for (long i = 0; i < size * count; i++)
		record[i] = 'a' + i % 23;
	if (overwrite) {
		/* In pieces of a record: one large write would make large folios, in which every
		 * small write costs write-back a walk over all their blocks. */
		for (long i = 0; i < count; i++)
			if (write(fd, record + i * size, size) != size)
				return 1;
		if (fsync(fd))
			return 1;
		lseek(fd, 0, SEEK_SET);
	}
	begun = now_ns();
	for (long i = 0; i < count; i++) {
		if (write(fd, record, size) != size)
			return 1;
		if (sync == 1 && fsync(fd))
			return 1;
		if (sync == 2 && fdatasync(fd))
			return 1;
	}
	if (timed)
		printf("%lld\n", now_ns() - begun);
	return close(fd) ? 1 : 0;
}
