/* cache-thrash DIR: makes `input` of 32 MiB with 32 write, syncs it, and 4 times evicts it and
 * reads it with pread64 of 1 MiB: 128 reads.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = make_file("input", 32 * MIB);

	for (int time = 0; time < 4; time++) {
		evict(fd);
		for (long at = 0; at < 32 * MIB; at += MIB)
			must(pread(fd, piece, MIB, at) == MIB, "input");
	}
	return close(fd);
}
