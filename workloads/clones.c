/* clones DIR: shares what files hold, in the empty DIR on a file system that can.
 *
 * "source" has 65,536 bytes. "whole" becomes a clone of it; "part" gets 8,192 bytes from 16,384 of
 * it at 4,096; 4,096 bytes of "source" are shared with "same" and "too", which hold the same.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static char data[65536];

static void check(long right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

static int made(const char *path, long bytes)
{
	int fd = open(path, O_RDWR | O_CREAT, 0644);

	check(fd >= 0 && write(fd, data, bytes) == bytes, path);
	return fd;
}

int main(int argc, char **argv)
{
	struct file_clone_range range = {.src_offset = 16384, .src_length = 8192, .dest_offset = 4096};
	struct file_dedupe_range *same = calloc(1, sizeof *same + 2 * sizeof same->info[0]);
	int source;

	if (argc != 2)
		return 2;
	check(!chdir(argv[1]), argv[1]);
	memset(data, 'x', sizeof data);
	source = made("source", sizeof data);
	check(!ioctl(made("whole", 0), FICLONE, source), "FICLONE");
	range.src_fd = source;
	check(!ioctl(made("part", 0), FICLONERANGE, &range), "FICLONERANGE");
	check(ioctl(made("refused", 1), FICLONE, 999) == -1, "FICLONE");
	same->src_length = 4096;
	same->dest_count = 2;
	same->info[0].dest_fd = made("same", 4096);
	same->info[1].dest_fd = made("too", 4096);
	check(!fsync(source) && !ioctl(source, FIDEDUPERANGE, same), "FIDEDUPERANGE");
	check(same->info[0].bytes_deduped == 4096 && same->info[1].bytes_deduped == 4096, "deduped");
	return 0;
}
