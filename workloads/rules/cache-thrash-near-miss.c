/* cache-thrash-near-miss DIR: makes `input` of 32 MiB with 32 write, syncs and evicts it, and
 * reads it 4 times with pread64 of 1 MiB: 128 reads, the first 32 from the device.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = make_file("input", 32 * MIB);

	evict(fd);
	for (int time = 0; time < 4; time++)
		for (long at = 0; at < 32 * MIB; at += MIB)
			must(pread(fd, piece, MIB, at) == MIB, "input");
	return close(fd);
}
