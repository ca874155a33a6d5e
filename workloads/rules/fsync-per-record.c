/* fsync-per-record DIR: 1 openat of `log`, 400 times write of 100 bytes and fsync, 1 close. */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("log", O_WRONLY | O_CREAT | O_TRUNC);

	for (int i = 0; i < 400; i++) {
		must(write(fd, piece, 100) == 100, "log");
		must(!fsync(fd), "log");
	}
	return close(fd);
}
