/* append PATH COUNT SIZE SYNC [overwrite]
 *
 * Writes COUNT records of SIZE bytes, each followed by SYNC: none, fsync, fdatasync.
 * With `overwrite` the file is written and synced once before, and the records go over it.
 * I/O on PATH: 1 openat, COUNT writes of SIZE bytes, COUNT syncs, 1 close
 * (overwrite: 1 write of COUNT*SIZE, 1 fsync and 1 lseek more).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 5) {
		fprintf(stderr, "append PATH COUNT SIZE none|fsync|fdatasync [overwrite]\n");
		return 2;
	}
	long count = atol(argv[2]), size = atol(argv[3]);
	int sync = !strcmp(argv[4], "fsync") ? 1 : !strcmp(argv[4], "fdatasync") ? 2 : 0;
	char *record = malloc(size * count);
	int fd = open(argv[1], O_CREAT | O_WRONLY, 0644);

	if (fd < 0 || !record)
		return 1;
	for (long i = 0; i < size * count; i++)
		record[i] = 'a' + i % 23;
	if (argc > 5) {
		if (write(fd, record, size * count) != size * count || fsync(fd))
			return 1;
		lseek(fd, 0, SEEK_SET);
	}
	for (long i = 0; i < count; i++) {
		if (write(fd, record, size) != size)
			return 1;
		if (sync == 1 && fsync(fd))
			return 1;
		if (sync == 2 && fdatasync(fd))
			return 1;
	}
	return close(fd) ? 1 : 0;
}
