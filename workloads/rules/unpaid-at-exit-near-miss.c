/* unpaid-at-exit-near-miss DIR: 1 openat of `output`, 128 write of 1 MiB, 1 fsync, 1 close. */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	int fd = make_file("output", 128 * MIB);

	must(!fsync(fd), "output");
	return close(fd);
}
