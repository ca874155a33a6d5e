/* ignored-fsync-error-near-miss DIR: for a disk that fails. 1 openat of `data`, 32 write of 1 MiB,
 * 1 fsync that has to fail, 1 close.
 */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	int fd = make_file("data", 32 * MIB);

	must(fsync(fd) < 0, "fsync has to fail");
	return close(fd);
}
