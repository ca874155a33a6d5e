/* ring_writes WAY FILE: 256 io_uring writes of 4,096 bytes to FILE, without a sync. WAY is `plain`, `async` (a worker
 * makes each) or `polled` (a thread of the kernel looks for them).
 */
#include "rules/ring.h"

int main(int argc, char **argv)
{
	static char page[4096];
	struct ring ring;
	int fd;

	must(argc == 3, "usage: ring_writes WAY FILE");
	fd = open(argv[2], O_WRONLY | O_CREAT, 0600);
	must(fd >= 0, argv[2]);
	memset(page, 'x', sizeof page);
	ring = make_ring_with(argv[1][1] == 'o' ? IORING_SETUP_SQPOLL : 0);
	ring.flags = argv[1][0] == 'a' ? IOSQE_ASYNC : 0;
	for (int batch = 0; batch < 4; batch++)
		write_batch(&ring, fd, page, sizeof page, batch * 64L * sizeof page, 64);
	return close(fd);
}
