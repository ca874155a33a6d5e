/* cold-start DIR prepare: makes `input` of 64 MiB, syncs and evicts it.
 * cold-start DIR: 1 openat of `input`, 64 read of 1 MiB, 1 close.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	if (argc > 2) {
		evict(make_file("input", 64 * MIB));
		return 0;
	}
	int fd = open_file("input", O_RDONLY);

	for (int i = 0; i < 64; i++)
		must(read(fd, piece, MIB) == MIB, "input");
	return close(fd);
}
