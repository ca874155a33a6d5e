/* told DIR: calls that only their arguments tell, in DIR with the files "emptied", "shortened" and
 * "mapped" of 8,192 bytes each.
 *
 * openat2 empties "emptied" and writes 3 bytes; truncate cuts "shortened" to 100; "mapped" is
 * mapped to read, then made writable and stored to; "flags" gets 4 bytes that are durable by
 * themselves and 4 that are appended, and space for 4,096 by a request of ioctl; 5 bytes go to /proc;
 * a hole is cut into "mapped" where it is mapped.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void check(long right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

static void opened(void)
{
	struct open_how how = {.flags = O_WRONLY | O_TRUNC};
	int fd = syscall(SYS_openat2, AT_FDCWD, "emptied", &how, sizeof how);

	check(fd >= 0 && write(fd, "new", 3) == 3 && !close(fd), "openat2");
	check(!truncate("shortened", 100), "truncate");
}

static void mapped(void)
{
	int fd = open("mapped", O_RDWR);
	char *memory = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *map = mmap(0, 8192, PROT_READ, MAP_SHARED, fd, 0);

	check(fd >= 0 && map != MAP_FAILED && memory != MAP_FAILED, "mmap");
	check(!close(fd), "close");
	check(!mprotect(memory, 4096, PROT_READ), "mprotect");
	check(!mprotect(memory, 4096, PROT_READ | PROT_WRITE), "mprotect");
	check(!mprotect(map + 4096, 4096, PROT_READ | PROT_WRITE), "mprotect");
	strcpy(map + 4096, "stored");
	check(!madvise(map + 4096, 4096, MADV_DONTNEED), "madvise");
	check(!madvise(map + 4096, 4096, MADV_REMOVE), "madvise");
	check(mremap(memory, 4 * 4096, 8 * 4096, MREMAP_MAYMOVE) != MAP_FAILED, "mremap");
}

static void with_flags(void)
{
	/* include/linux/falloc.h: struct space_resv, FS_IOC_RESVSP64 */
	struct {
		short type, whence;
		long start, length;
		int system, process, unused[4];
	} space = {.length = 4096};
	struct iovec vector = {"four", 4};
	int fd = open("flags", O_WRONLY | O_CREAT, 0644);

	check(fd >= 0 && pwritev2(fd, &vector, 1, 0, RWF_DSYNC) == 4, "pwritev2");
	check(pwritev2(fd, &vector, 1, 0, RWF_APPEND) == 4, "pwritev2");
	check(!ioctl(fd, 0x4030582a, &space) && !close(fd), "ioctl");
	fd = open("/proc/self/comm", O_WRONLY);
	check(fd >= 0 && write(fd, "named", 5) == 5 && !close(fd), "/proc/self/comm");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	check(!chdir(argv[1]), argv[1]);
	opened();
	mapped();
	with_flags();
	return 0;
}
