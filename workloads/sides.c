/* sides cold|warm|mapped|direct|names PATH COUNT
 *
 * One kind of work, COUNT times, of which every count is known. PATH is a file of at least COUNT
 * pages, for `mapped` and `names` one that is made.
 *
 *   cold    evicts the file and reads COUNT pages from its begin: COUNT preads of 4096 bytes
 *   warm    reads its first page: COUNT preads of 4096 bytes
 *   mapped  makes it COUNT pages long, maps it and stores to each page, then msync
 *   direct  reads COUNT pages past the page cache: COUNT preads of 4096 bytes, as many requests
 *   names   makes and removes PATH: COUNT openat, close and unlink, and a sync after the last
 *
 * Prints what /proc/self/io has counted of this: bytes read and written by calls, bytes that the disk had to
 * read, bytes turned dirty.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static char block[PAGE] __attribute__((aligned(PAGE)));

static int reading(const char *path, long count, int flags, int again)
{
	int fd = open(path, O_RDONLY | flags);

	if (fd < 0)
		return 1;
	for (long i = 0; i < count; i++)
		if (pread(fd, block, PAGE, again ? 0 : i * PAGE) != PAGE)
			return 1;
	return close(fd);
}

static int evict(const char *path)
{
	int fd = open(path, O_RDONLY);

	return fd < 0 || fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) || close(fd);
}

static int mapped(const char *path, long count)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	char *memory;

	if (fd < 0 || ftruncate(fd, count * PAGE))
		return 1;
	memory = mmap(0, count * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return 1;
	for (long i = 0; i < count; i++)
		memory[i * PAGE] = 1;
	return msync(memory, count * PAGE, MS_SYNC) || close(fd);
}

static int names(const char *path, long count)
{
	for (long i = 0; i < count; i++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

		if (fd < 0 || close(fd) || unlink(path))
			return 1;
	}
	sync();
	return 0;
}

/* proc_pid_io(5) */
struct counters {
	long long rchar, wchar, syscr, syscw, read_bytes, write_bytes;
	long long length; /* of what was read, which is counted afterwards */
};

static int look(struct counters *now)
{
	char text[512];
	int fd = open("/proc/self/io", O_RDONLY);

	now->length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (now->length < 0 || close(fd))
		return 1;
	text[now->length] = 0;
	return sscanf(text, "rchar: %lld wchar: %lld syscr: %lld syscw: %lld read_bytes: %lld write_bytes: %lld",
		      &now->rchar, &now->wchar, &now->syscr, &now->syscw, &now->read_bytes,
		      &now->write_bytes) != 6;
}

static int side(const char *kind, const char *path, long count)
{
	if (!strcmp(kind, "cold"))
		return evict(path) || reading(path, count, 0, 0);
	if (!strcmp(kind, "warm"))
		return reading(path, count, 0, 1);
	if (!strcmp(kind, "mapped"))
		return mapped(path, count);
	if (!strcmp(kind, "direct"))
		return reading(path, count, O_DIRECT, 0);
	return strcmp(kind, "names") ? 2 : names(path, count);
}

int main(int argc, char **argv)
{
	struct counters before, after;
	int failed;

	if (argc != 4)
		return 2;
	if (look(&before))
		return 1;
	failed = side(argv[1], argv[2], atol(argv[3]));
	if (failed || look(&after))
		return failed ? failed : 1;
	printf("%lld %lld %lld %lld\n", after.rchar - before.rchar - before.length,
	       after.wchar - before.wchar, after.read_bytes - before.read_bytes,
	       after.write_bytes - before.write_bytes);
	return 0;
}
