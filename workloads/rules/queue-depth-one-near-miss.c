/* queue-depth-one-near-miss DIR: makes `table` of 32 MiB with 32 write, syncs and evicts it,
 * and reads all 8,192 pages with pread64, one after the other: read-ahead is ahead of them.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char page[PAGE];

	enter(argc, argv);
	int fd = make_file("table", 32 * MIB);

	evict(fd);
	for (long i = 0; i < 8192; i++)
		must(pread(fd, page, PAGE, i * PAGE) == PAGE, "table");
	return close(fd);
}
