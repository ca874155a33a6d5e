/* changes DIR: one of each call that changes files, in this order, in the empty DIR:
 * names, lengths, holes, copies without a buffer, stores to a mapping, output.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(long right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

static int made(const char *path, const char *text)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

	check(fd >= 0 && write(fd, text, strlen(text)) == (long)strlen(text), path);
	return fd;
}

static void names(void)
{
	check(!mkdir("dir", 0755), "mkdir");
	close(made("dir/one", "one"));
	close(made("dir/two", "two"));
	check(!link("dir/one", "linked"), "link");
	check(!symlink("dir/two", "symbolic"), "symlink");
	check(!renameat2(AT_FDCWD, "dir/one", AT_FDCWD, "dir/two", RENAME_EXCHANGE), "exchange");
	check(!rename("dir", "moved"), "rename");
	check(rename("absent", "moved/absent") == -1, "rename");
	close(made("removed", "removed"));
	check(!unlink("removed"), "unlink");
	check(!mkdir("empty", 0700) && !rmdir("empty"), "rmdir");
}

static void lengths(void)
{
	int fd = made("shortened", "0123456789");

	check(!ftruncate(fd, 4) && !ftruncate(fd, 6), "ftruncate");
	check(pwrite(fd, "x", 1, 100000) == 1, "pwrite");
	check(!fallocate(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, 2), "fallocate");
	check(!fsync(fd) && !fdatasync(fd) && !close(fd), "fsync");
	check(!truncate("shortened", 100000), "truncate");
	fd = open("shortened", O_WRONLY | O_APPEND);
	/* O_APPEND: the offset is ignored. */
	check(pwrite(fd, "end", 3, 0) == 3 && !close(fd), "pwrite");
}

static void copies(void)
{
	int from = made("source", "copied without a buffer"), to;
	loff_t at = 7, out = 3;

	to = made("copied", "");
	check(copy_file_range(from, &at, to, &out, 7, 0) == 7, "copy_file_range");
	check(!close(to), "close");
	to = made("sent", "> ");
	check(lseek(from, 0, SEEK_SET) == 0 && sendfile(to, from, 0, 6) == 6, "sendfile");
	check(!close(to) && !close(from), "close");
}

static void stores(void)
{
	int fd = made("stored", "");
	char *map;

	check(!ftruncate(fd, 3 * 4096), "ftruncate");
	map = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(map != MAP_FAILED && !close(fd), "mmap");
	strcpy(map + 4096, "synchronized");
	check(!msync(map + 4096, 4096, MS_SYNC), "msync");
	strcpy(map + 2 * 4096, "left to the kernel");
	check(!munmap(map, 3 * 4096), "munmap");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	check(!chdir(argv[1]), argv[1]);
	names();
	lengths();
	copies();
	stores();
	check(write(1, "done\n", 5) == 5, "write");
	return 0;
}
