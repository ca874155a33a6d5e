/* temp-file-churn-near-miss DIR: 2,000 times openat of a new file, write of 16,384 bytes,
 * pread64 of them, close, unlink.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[16 * KIB];
	char name[32];

	enter(argc, argv);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "temporary%d", i);
		int fd = open_file(name, O_RDWR | O_CREAT | O_EXCL);

		must(write(fd, piece, sizeof piece) == sizeof piece, name);
		must(pread(fd, piece, sizeof piece, 0) == sizeof piece, name);
		close(fd);
		must(!unlink(name), name);
	}
	return 0;
}
