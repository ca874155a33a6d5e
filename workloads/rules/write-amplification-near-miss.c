/* write-amplification-near-miss DIR: 1 openat of `table`, 10,000 pwrite64 of 2,048 bytes, one
 * in each page: 20,480,000 bytes make 40,960,000 dirty. 1 close.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char record[2 * KIB];

	enter(argc, argv);
	int fd = open_file("table", O_WRONLY | O_CREAT | O_TRUNC);

	for (long i = 0; i < 10000; i++)
		must(pwrite(fd, record, sizeof record, i * PAGE) == sizeof record, "table");
	return close(fd);
}
