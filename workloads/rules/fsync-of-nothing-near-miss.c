/* fsync-of-nothing-near-miss DIR: 1 openat of `log`, 40 times pwrite64 of 1 byte at 0 and fsync,
 * 1 close: the same byte again is a change.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("log", O_WRONLY | O_CREAT | O_TRUNC);

	for (int i = 0; i < 40; i++) {
		must(pwrite(fd, piece, 1, 0) == 1, "log");
		must(!fsync(fd), "log");
	}
	return close(fd);
}
