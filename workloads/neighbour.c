/* neighbour DIR
 *
 * Keeps a disk busy until its standard input ends: appends 100 bytes to DIR/busy and syncs it,
 * makes and removes the directory DIR/busy.d and syncs DIR, repeatedly. Prints a line once
 * it has done so for the first time, and removes what it made in the end.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const char *what)
{
	perror(what);
	return 1;
}

int main(int argc, char **argv)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	char record[100];
	int file, directory, rounds = 0;

	if (argc != 2 || chdir(argv[1]))
		return failed("busy DIR");
	memset(record, 'x', sizeof record);
	file = open("busy", O_CREAT | O_WRONLY | O_APPEND, 0644);
	directory = open(".", O_RDONLY | O_DIRECTORY);
	if (file < 0 || directory < 0)
		return failed("open");
	while (poll(&input, 1, 0) == 0) {
		if (write(file, record, sizeof record) != sizeof record || fsync(file))
			return failed("busy");
		if (mkdir("busy.d", 0755) || rmdir("busy.d") || fsync(directory))
			return failed("busy.d");
		if (!rounds++) {
			puts("busy");
			fflush(stdout);
		}
	}
	return unlink("busy") ? failed("unlink") : 0;
}
