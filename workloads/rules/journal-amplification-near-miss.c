/* journal-amplification-near-miss DIR: 1 openat of `log`, 12 times write of 1 MiB and fsync,
 * 1 close. For a file system with a journal: 12 transactions with much data.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("log", O_WRONLY | O_CREAT | O_TRUNC);

	for (int i = 0; i < 12; i++) {
		must(write(fd, piece, MIB) == MIB, "log");
		must(!fsync(fd), "log");
	}
	return close(fd);
}
