/* mapped-file-faults DIR: makes `index` of 32 MiB with 32 write, syncs and evicts it, maps it
 * with MADV_RANDOM, and touches 1,000 pages, each once, in an order without neighbours.
 */
#include "place.h"

int main(int argc, char **argv)
{
	long sum = 0;

	enter(argc, argv);
	int fd = make_file("index", 32 * MIB);

	evict(fd);
	char *map = mmap(0, 32 * MIB, PROT_READ, MAP_SHARED, fd, 0);

	must(map != MAP_FAILED && !madvise(map, 32 * MIB, MADV_RANDOM), "index");
	for (long i = 0; i < 1000; i++)
		sum += ((volatile char *)map)[shuffled(i, 8192) * PAGE];
	return sum != 1000 * 'x';
}
