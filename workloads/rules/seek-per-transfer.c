/* seek-per-transfer DIR: makes `table` of 8 MiB with 8 write, and then 200,000 times: lseek,
 * read of 16 bytes.
 */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	int fd = make_file("table", 8 * MIB);
	char record[16];

	for (long i = 0; i < 200000; i++) {
		long at = shuffled(i, 262144) * 16;

		must(lseek(fd, at, SEEK_SET) == at, "table");
		must(read(fd, record, 16) == 16, "table");
	}
	return close(fd);
}
