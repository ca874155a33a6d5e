/* uring-single-operations-near-miss DIR: 1 openat of `output`, 1,000 io_uring_enter, each for
 * 50 writes of 512 bytes, one after the other, 1 close.
 */
#include "ring.h"

int main(int argc, char **argv)
{
	static char record[512];

	enter(argc, argv);
	int fd = open_file("output", O_WRONLY | O_CREAT);
	struct ring ring = make_ring();

	for (long i = 0; i < 50000; i += 50)
		write_batch(&ring, fd, record, sizeof record, i * 512, 50);
	return close(fd);
}
