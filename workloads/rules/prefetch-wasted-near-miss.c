/* prefetch-wasted-near-miss DIR: as prefetch-wasted, after madvise(MADV_RANDOM): 128 faults,
 * each of which reads its page.
 */
#include "place.h"

int main(int argc, char **argv)
{
	long sum = 0;

	enter(argc, argv);
	int fd = make_file("index", 128 * MIB);

	evict(fd);
	char *map = mmap(0, 128 * MIB, PROT_READ, MAP_SHARED, fd, 0);

	must(map != MAP_FAILED && !madvise(map, 128 * MIB, MADV_RANDOM), "index");
	for (long i = 0; i < 128; i++)
		sum += ((volatile char *)map)[shuffled(i, 128) * MIB + 512 * KIB];
	return sum != 128 * 'x';
}
