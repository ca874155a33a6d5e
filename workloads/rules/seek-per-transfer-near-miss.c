/* seek-per-transfer-near-miss DIR: makes `table` of 8 MiB with 8 write, and then 100,000
 * times: lseek, three reads of 16 bytes.
 */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	int fd = make_file("table", 8 * MIB);
	char record[16];

	for (long i = 0; i < 100000; i++) {
		long at = shuffled(i, 131072) * 64;

		must(lseek(fd, at, SEEK_SET) == at, "table");
		for (int part = 0; part < 3; part++)
			must(read(fd, record, 16) == 16, "table");
	}
	return close(fd);
}
