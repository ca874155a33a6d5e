/* ignored-fsync-error DIR: for a disk that fails. 1 openat of `data`, 32 write of 1 MiB, 1 fsync that
 * has to fail, 1 pwrite64 of 100 bytes at 0, 1 fsync, 1 close.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = make_file("data", 32 * MIB);

	must(fsync(fd) < 0, "fsync has to fail");
	must(pwrite(fd, piece, 100, 0) == 100, "data");
	fsync(fd);
	return close(fd);
}
