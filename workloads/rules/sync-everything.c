/* sync-everything DIR: 1 openat of `log`, 1 write of 100 bytes, 600 sync, 1 close. */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("log", O_WRONLY | O_CREAT | O_TRUNC);

	must(write(fd, piece, 100) == 100, "log");
	for (int i = 0; i < 600; i++)
		sync();
	return close(fd);
}
