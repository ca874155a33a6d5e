/* scatter DIR PROCESSES BYTES: each process writes BYTES to DIR/scatter.N by write, pwrite
 * and writev of 1 B to 1 MB, some of them from DIR/source mapped and not resident, then
 * makes DIR/done.N of it; a log of 1,000 one-byte appends lies beside it. The same
 * arguments write the same bytes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOURCE (8 << 20)
#define LONGEST 1000000

static unsigned char buffer[LONGEST];

static void check(int right, const char *what)
{
	if (!right) {
		perror(what);
		_exit(1);
	}
}

static uint64_t state;

static uint64_t next(void) /* xorshift64 */
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void fill(size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		buffer[i] = i % 8 ? buffer[i - 1] * 31 + 7 : next();
}

/* 1 B to 1 MB, each power of two as likely as the next. */
static size_t length(void)
{
	size_t bytes = 1 + next() % (1ULL << (1 + next() % 20));

	return bytes > LONGEST ? LONGEST : bytes;
}

static ssize_t gather(int fd, size_t bytes)
{
	struct iovec vector[5];
	size_t piece = bytes / 5;

	for (int i = 0; i < 5; i++) {
		vector[i].iov_base = buffer + i * piece;
		vector[i].iov_len = i < 4 ? piece : bytes - 4 * piece;
	}
	return writev(fd, vector, 5);
}

static void work(const char *dir, int number, uint64_t wanted)
{
	char path[4096], done[4096];
	uint64_t written = 0, end = 0;
	unsigned char *source;
	int fd, from;

	state = 88172645463325252ULL + number;
	snprintf(path, sizeof path, "%s/source", dir);
	from = open(path, O_RDONLY);
	source = mmap(0, SOURCE, PROT_READ, MAP_SHARED, from, 0);
	check(source != MAP_FAILED, "mmap");
	snprintf(path, sizeof path, "%s/scatter.%d", dir, number);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	check(fd >= 0, path);
	while (written < wanted) {
		size_t bytes = length();
		ssize_t had;

		switch (next() % 4) {
		case 0:
			fill(bytes);
			had = write(fd, buffer, bytes);
			end += had;
			break;
		case 1:
			fill(bytes);
			had = pwrite(fd, buffer, bytes, end ? next() % end : 0);
			break;
		case 2:
			fill(bytes);
			had = gather(fd, bytes);
			end += had;
			break;
		default:
			madvise(source, SOURCE, MADV_DONTNEED);
			had = write(fd, source + next() % (SOURCE - LONGEST), bytes);
			end += had;
		}
		check(had == (ssize_t)bytes, "write");
		written += bytes;
	}
	check(!close(fd), "close");
	snprintf(done, sizeof done, "%s/done.%d", dir, number);
	check(!rename(path, done), "rename");
	snprintf(path, sizeof path, "%s/log.%d", dir, number);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	for (int i = 0; i < 1000; i++)
		check(write(fd, &"0123456789"[i % 10], 1) == 1, "write");
	check(!close(fd), "close");
}

int main(int argc, char **argv)
{
	char path[4096];
	int failed = 0, status, fd;

	if (argc != 4)
		return 2;
	state = 1;
	snprintf(path, sizeof path, "%s/source", argv[1]);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < SOURCE / (1 << 18); i++) {
		fill(1 << 18);
		check(write(fd, buffer, 1 << 18) == 1 << 18, "write");
	}
	check(!fsync(fd) && !posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) && !close(fd), path);
	for (int i = 0; i < atoi(argv[2]); i++) {
		if (!fork()) {
			work(argv[1], i, strtoull(argv[3], 0, 10));
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}
