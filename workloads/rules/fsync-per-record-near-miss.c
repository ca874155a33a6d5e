/* fsync-per-record-near-miss DIR: 1 openat of `log`, 12 times 128 write of 1 KiB and 1 fsync,
 * 1 close: each sync is shared by 128 records.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("log", O_WRONLY | O_CREAT | O_TRUNC);

	for (int i = 0; i < 12 * 128; i++) {
		must(write(fd, piece, KIB) == KIB, "log");
		if (i % 128 == 127)
			must(!fsync(fd), "log");
	}
	return close(fd);
}
