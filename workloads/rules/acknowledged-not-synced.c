/* acknowledged-not-synced DIR: `orders` with 1 openat, 10 writes of 100 bytes, each followed by 1
 * write of "ok\n" to standard output; 1 close, no sync.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char record[100];

	enter(argc, argv);
	int fd = open_file("orders", O_WRONLY | O_CREAT | O_APPEND);

	for (int i = 0; i < 10; i++) {
		must(write(fd, record, 100) == 100, "orders");
		must(write(1, "ok\n", 3) == 3, "standard output");
	}
	return close(fd);
}
