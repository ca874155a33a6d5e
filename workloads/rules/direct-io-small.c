/* direct-io-small DIR: 1 openat of `image` with O_DIRECT, 1 fallocate, 1,000 pwrite64 of 4096
 * bytes, one after the other, 1 close.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char page[PAGE] __attribute__((aligned(4096)));

	enter(argc, argv);
	int fd = open_file("image", O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT);

	must(!fallocate(fd, 0, 0, 1000 * PAGE), "image");
	for (long i = 0; i < 1000; i++)
		must(pwrite(fd, page, PAGE, i * PAGE) == PAGE, "image");
	return close(fd);
}
