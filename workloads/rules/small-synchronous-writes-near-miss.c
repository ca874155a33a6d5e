/* small-synchronous-writes-near-miss DIR: 1 openat of `log` with O_DSYNC, 12 write of 128 KiB,
 * 1 close.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("log", O_WRONLY | O_CREAT | O_TRUNC | O_DSYNC);

	for (int i = 0; i < 12; i++)
		must(write(fd, piece, 128 * KIB) == 128 * KIB, "log");
	return close(fd);
}
