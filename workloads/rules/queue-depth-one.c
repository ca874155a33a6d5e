/* queue-depth-one DIR: makes `table` of 32 MiB with 32 write, syncs and evicts it, and reads
 * 1,000 of its pages with pread64, each once, in an order without neighbours.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char page[PAGE];

	enter(argc, argv);
	int fd = make_file("table", 32 * MIB);

	evict(fd);
	for (long i = 0; i < 1000; i++)
		must(pread(fd, page, PAGE, shuffled(i, 8192) * PAGE) == PAGE, "table");
	return close(fd);
}
