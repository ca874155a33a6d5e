/* paced DIRECTORY FILES RATE SECONDS
 *
 * Reads so many times a second, 512 bytes from the begin of one file after the other.
 * I/O: FILES openat, writes of 512 bytes and closes; then RATE * SECONDS preads of 512 bytes, in as many parts as
 * there are milliseconds.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char block[512];

static int opened(const char *directory, long number)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%s/%ld", directory, number);
	fd = open(path, O_CREAT | O_RDWR, 0644);
	return fd >= 0 && write(fd, block, sizeof block) == sizeof block ? fd : -1;
}

int main(int argc, char **argv)
{
	struct timespec until;
	long files, rate, parts, done = 0;
	int *fds;

	if (argc != 5)
		return 2;
	files = atol(argv[2]);
	rate = atol(argv[3]);
	parts = atol(argv[4]) * 1000;
	fds = malloc(files * sizeof *fds);
	if (!fds)
		return 1;
	for (long i = 0; i < files; i++)
		if ((fds[i] = opened(argv[1], i)) < 0)
			return 1;
	clock_gettime(CLOCK_MONOTONIC, &until);
	for (long part = 1; part <= parts; part++) {
		for (; done < rate * part / 1000; done++)
			if (pread(fds[done % files], block, sizeof block, 0) != sizeof block)
				return 1;
		until.tv_nsec += 1000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
	}
	return 0;
}
