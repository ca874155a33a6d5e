/* read-before-write-near-miss DIR: makes `table` of 32 MiB with 32 write, syncs and evicts it,
 * and writes 1,000 of its pages, whole, with pwrite64, each once.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char page[PAGE];

	enter(argc, argv);
	int fd = make_file("table", 32 * MIB);

	evict(fd);
	for (long i = 0; i < 1000; i++)
		must(pwrite(fd, page, PAGE, shuffled(i, 8192) * PAGE) == PAGE, "table");
	return close(fd);
}
