/* acknowledged-not-synced-near-miss DIR: `orders` with 1 openat, then 10 times 1 write of 100 bytes
 * by pwritev2 with RWF_DSYNC and 1 write of "ok\n" to standard output; `report` with 1 openat and 1
 * write after the last of these.
 */
#include "place.h"
#include <sys/uio.h>

int main(int argc, char **argv)
{
	static char record[100];
	struct iovec piece = {record, sizeof record};

	enter(argc, argv);
	int fd = open_file("orders", O_WRONLY | O_CREAT);

	for (int i = 0; i < 10; i++) {
		must(pwritev2(fd, &piece, 1, 100L * i, RWF_DSYNC) == 100, "orders");
		must(write(1, "ok\n", 3) == 3, "standard output");
	}
	int report = open_file("report", O_WRONLY | O_CREAT);

	must(write(report, record, 100) == 100, "report");
	return 0;
}
