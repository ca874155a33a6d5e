/* prefetch-wasted DIR: makes `index` of 128 MiB with 128 write, syncs and evicts it, maps it, and
 * touches one page in each MiB: at most 128 faults, each of which reads around its page.
 */
#include "place.h"

int main(int argc, char **argv)
{
	long sum = 0;

	enter(argc, argv);
	int fd = make_file("index", 128 * MIB);

	evict(fd);
	char *map = mmap(0, 128 * MIB, PROT_READ, MAP_SHARED, fd, 0);

	must(map != MAP_FAILED, "index");
	for (long i = 0; i < 128; i++)
		sum += ((volatile char *)map)[shuffled(i, 128) * MIB + 512 * KIB];
	return sum != 128 * 'x';
}
