/* oddities DIR: what a log of writes and names alone would miss, in this order, in DIR, which has
 * a file `old` of 5 bytes, a directory `kept` with a file in it, and nothing else.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
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

static void nodes(void)
{
	int fd;

	umask(0);
	check(!mknod("fifo", S_IFIFO | 0640, 0), "mknod");
	check(!mknod("regular", S_IFREG | 0604, 0), "mknod");
	check(!mkfifo("fifo2", 0600), "mkfifo");
	umask(022);
	check(!mkdir("directory", 0750), "mkdir");
	fd = open("directory", O_RDONLY | O_DIRECTORY);
	check(fd >= 0 && !fsync(fd) && !close(fd), "directory");
	check(!rename("kept", "moved"), "rename");
	check(!symlink("moved", "link"), "symlink");
	/* Through a symbolic link, and up from what it leads to. */
	check(!close(made("link/../directory/inside", "inside")), "close");
}

static void nameless(void)
{
	char path[64];
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);

	check(fd >= 0 && write(fd, "published", 9) == 9, "O_TMPFILE");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	check(!linkat(AT_FDCWD, path, AT_FDCWD, "published", AT_SYMLINK_FOLLOW), "linkat");
	check(!close(fd), "close");
	fd = open(".", O_TMPFILE | O_RDWR, 0600);
	check(fd >= 0 && write(fd, "gone", 4) == 4 && !close(fd), "O_TMPFILE");
}

static void lengths(void)
{
	struct open_how how = {.flags = O_WRONLY | O_TRUNC};
	int fd, same;

	check(!close(made("emptied", "to be emptied")), "close");
	fd = syscall(SYS_openat2, AT_FDCWD, "emptied", &how, sizeof how);
	check(fd >= 0 && write(fd, "new", 3) == 3 && !close(fd), "openat2");
	check(!truncate("old", 3), "truncate");
	/* A descriptor that was duplicated shares the position. */
	fd = made("twice", "one");
	same = dup(fd);
	check(same >= 0 && write(same, "two", 3) == 3 && write(fd, "three", 5) == 5, "dup");
	check(!fcntl(fd, F_SETFL, O_APPEND) && lseek(fd, 0, SEEK_SET) == 0, "fcntl");
	check(write(same, "end", 3) == 3 && !close(fd) && !close(same), "write");
}

static void attributes(void)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000000000, .tv_nsec = 5}};
	int fd = made("attributes", "text"), flags;

	check(!chmod("attributes", 0604) && !fchmod(fd, 0640), "chmod");
	check(!chmod("directory", 0711), "chmod");
	check(!fchownat(AT_FDCWD, "attributes", 7, -1, 0), "chown");
	check(!fsetxattr(fd, "user.one", "1", 1, 0), "fsetxattr");
	check(!setxattr("attributes", "user.two", "22", 2, XATTR_CREATE), "setxattr");
	check(!removexattr("attributes", "user.one"), "removexattr");
	/* As chattr(1) does: without its flag for extents ext4 would move the file to mapped blocks,
	 * and refuses that until their data is written (ext4_ind_migrate, fs/ext4/migrate.c). */
	check(!ioctl(fd, FS_IOC_GETFLAGS, &flags), "FS_IOC_GETFLAGS");
	flags |= FS_NODUMP_FL;
	check(!ioctl(fd, FS_IOC_SETFLAGS, &flags), "FS_IOC_SETFLAGS");
	check(!close(fd), "close");
	check(!utimensat(AT_FDCWD, "attributes", times, 0), "utimensat");
}

static void commands(void)
{
	/* The kernel's files hold no contents. */
	int fd = open("/proc/self/comm", O_WRONLY);

	check(fd >= 0 && write(fd, "oddities", 8) == 8 && !close(fd), "/proc");
	fd = open("/proc/self/oom_score_adj", O_WRONLY);
	check(fd >= 0 && pwrite(fd, "10", 2, 0) == 2 && !close(fd), "/proc");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	check(!chdir(argv[1]), argv[1]);
	nodes();
	nameless();
	lengths();
	attributes();
	commands();
	return 0;
}
