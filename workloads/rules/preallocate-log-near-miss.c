/* preallocate-log-near-miss DIR: 1 openat of `log`, 1 fallocate of 1 MiB, 1 fsync, 400 times write
 * of 100 bytes and fdatasync, 1 close.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("log", O_WRONLY | O_CREAT | O_TRUNC);

	must(!fallocate(fd, 0, 0, MIB), "log");
	must(!fsync(fd), "log");
	for (int i = 0; i < 400; i++) {
		must(write(fd, piece, 100) == 100, "log");
		must(!fdatasync(fd), "log");
	}
	return close(fd);
}
