/* rewritten-range-near-miss DIR: 1 openat of `mailbox`, 100,000 times pwrite64 of 100 bytes at
 * 0 and pread64 of the same, 1 close: each of them is read.
 */
#include "place.h"

int main(int argc, char **argv)
{
	char letter[100] = "dear\n";

	enter(argc, argv);
	int fd = open_file("mailbox", O_RDWR | O_CREAT | O_TRUNC);

	for (int i = 0; i < 100000; i++) {
		must(pwrite(fd, letter, sizeof letter, 0) == sizeof letter, "mailbox");
		must(pread(fd, letter, sizeof letter, 0) == sizeof letter, "mailbox");
	}
	return close(fd);
}
