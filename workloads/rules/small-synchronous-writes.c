/* small-synchronous-writes DIR: 1 openat of `log` with O_DSYNC, 400 write of 100 bytes, 1 close. */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("log", O_WRONLY | O_CREAT | O_TRUNC | O_DSYNC);

	for (int i = 0; i < 400; i++)
		must(write(fd, piece, 100) == 100, "log");
	return close(fd);
}
