/* temp-file-churn DIR: 2,000 times openat of a new file, write of 16,384 bytes, close, unlink. */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[16 * KIB];
	char name[32];

	enter(argc, argv);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "temporary%d", i);
		int fd = open_file(name, O_WRONLY | O_CREAT | O_EXCL);

		must(write(fd, piece, sizeof piece) == sizeof piece, name);
		close(fd);
		must(!unlink(name), name);
	}
	return 0;
}
