/* truncate-then-write DIR prepare: makes `config` of 100 bytes and syncs it.
 * truncate-then-write DIR: reads `config` with one read, opens it anew with O_TRUNC, 1 write of 120
 * bytes, 1 close.
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
	int fd = open_file("config", O_RDONLY);

	must(read(fd, piece, KIB) == 100, "config");
	close(fd);
	fd = open_file("config", O_WRONLY | O_TRUNC);
	must(write(fd, piece, 120) == 120, "config");
	return close(fd);
}
