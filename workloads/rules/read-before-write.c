/* read-before-write DIR: makes `table` of 32 MiB with 32 write, syncs and evicts it, and
 * writes 100 bytes into 1,000 of its pages with pwrite64, each once.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char record[100];

	enter(argc, argv);
	int fd = make_file("table", 32 * MIB);

	evict(fd);
	for (long i = 0; i < 1000; i++)
		must(pwrite(fd, record, 100, shuffled(i, 8192) * PAGE) == 100, "table");
	return close(fd);
}
