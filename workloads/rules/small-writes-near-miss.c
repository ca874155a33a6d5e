/* small-writes-near-miss DIR: 1 openat of `table`, 100,000 pwrite64 of 8 bytes, every 64 bytes,
 * 1 close. As small and as many, but no two of them are neighbours.
 */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	int fd = open_file("table", O_WRONLY | O_CREAT | O_TRUNC);

	for (long i = 0; i < 100000; i++)
		must(pwrite(fd, "12345678", 8, i * 64) == 8, "table");
	return close(fd);
}
