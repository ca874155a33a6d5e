/* direct-io-small-near-miss DIR: 1 openat of `image` with O_DIRECT, 1 fallocate, 256 pwrite64
 * of 65,536 bytes, one after the other, 1 close.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[64 * KIB] __attribute__((aligned(4096)));

	enter(argc, argv);
	int fd = open_file("image", O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT);

	must(!fallocate(fd, 0, 0, 16 * MIB), "image");
	for (long i = 0; i < 256; i++)
		must(pwrite(fd, piece, sizeof piece, i * sizeof piece) == sizeof piece, "image");
	return close(fd);
}
