/* mapped-file-faults-near-miss DIR: makes `index` of 32 MiB with 32 write, syncs and evicts
 * it, maps it and touches all 8,192 pages, one after the other: read-ahead is ahead of most.
 */
#include "place.h"

int main(int argc, char **argv)
{
	long sum = 0;

	enter(argc, argv);
	int fd = make_file("index", 32 * MIB);

	evict(fd);
	char *map = mmap(0, 32 * MIB, PROT_READ, MAP_SHARED, fd, 0);

	must(map != MAP_FAILED, "index");
	for (long i = 0; i < 8192; i++)
		sum += ((volatile char *)map)[i * PAGE];
	return sum != 8192 * 'x';
}
