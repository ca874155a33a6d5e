/* copied_up DIR: on an overlay whose lower layer has in DIR the files "log" (4 bytes), "target" (4),
 * "read" (4), "gone" (4) and "moved" (4) and the directory "was" with the file "in" (2), which makes
 * them copies of the upper layer, or hides them.
 *
 * "log" is read and 6 bytes are appended to it, and it is synced; "new" of 5 bytes is renamed over
 * "target"; "gone" is removed and the directory "gone" is made in its place, and in it "inner" of 3
 * bytes; "moved" becomes "away", and 2 bytes are appended; of "read" 4 bytes are read; a file without
 * a name of 7 bytes is linked as "published"; "was/in" is cut to 1 byte by its path.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(long right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

static void put(const char *path, int flags, const char *data, int bytes, int sync)
{
	int fd = open(path, flags, 0640);

	check(fd >= 0 && write(fd, data, bytes) == bytes && !(sync && fsync(fd)) && !close(fd), path);
}

static void take(const char *path)
{
	char data[10];
	int fd = open(path, O_RDONLY);

	check(fd >= 0 && read(fd, data, sizeof data) == 4 && !close(fd), path);
}

/* overlayfs makes files without a name since Linux 6.10 (ovl_tmpfile, fs/overlayfs/dir.c). */
static void publish(void)
{
	char path[50];
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);
	int named = fd < 0 && errno == EOPNOTSUPP;

	if (named)
		fd = open("published", O_RDWR | O_CREAT | O_EXCL, 0600);
	check(fd >= 0 && write(fd, "nobody7", 7) == 7, "O_TMPFILE");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	check(named || !linkat(AT_FDCWD, path, AT_FDCWD, "published", AT_SYMLINK_FOLLOW), "linkat");
	check(!close(fd), "close");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	check(!chdir(argv[1]), argv[1]);
	take("log");
	put("log", O_WRONLY | O_APPEND, "append", 6, 1);
	put("new", O_WRONLY | O_CREAT, "fresh", 5, 0);
	check(!rename("new", "target"), "rename");
	check(!unlink("gone") && !mkdir("gone", 0755), "gone");
	put("gone/inner", O_WRONLY | O_CREAT, "333", 3, 0);
	check(!rename("moved", "away"), "moved");
	put("away", O_WRONLY | O_APPEND, "22", 2, 0);
	take("read");
	publish();
	check(!truncate("was/in", 1), "truncate");
	return 0;
}
