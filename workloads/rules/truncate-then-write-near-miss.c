/* truncate-then-write-near-miss DIR prepare: makes `config` of 100 bytes and syncs it.
 * truncate-then-write-near-miss DIR: opens `config` with O_TRUNC, 1 write of 120 bytes, 1 close, as
 * cp over an old copy does.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	if (argc > 2) {
		int old = open_file("config", O_WRONLY | O_CREAT | O_TRUNC);

		must(write(old, piece, 100) == 100, "config");
		return fsync(old);
	}
	int fd = open_file("config", O_WRONLY | O_TRUNC);

	must(write(fd, piece, 120) == 120, "config");
	return close(fd);
}
