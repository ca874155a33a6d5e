/* write-amplification DIR: 1 openat of `bitmap`, 10,000 pwrite64 of 1 byte, one in each page:
 * 10,000 bytes make 40,960,000 dirty. 1 close.
 */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	int fd = open_file("bitmap", O_WRONLY | O_CREAT | O_TRUNC);

	for (long i = 0; i < 10000; i++)
		must(pwrite(fd, "x", 1, i * PAGE) == 1, "bitmap");
	return close(fd);
}
