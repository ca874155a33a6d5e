/* unlink-before-durable DIR prepare: makes `config` of 100 bytes and syncs it.
 * unlink-before-durable DIR: `config.new` with 1 openat and 1 write of 120 bytes; unlink of `config`;
 * fsync and close of `config.new`, rename of it to `config`.
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
	int fd = open_file("config.new", O_WRONLY | O_CREAT | O_TRUNC);

	must(write(fd, piece, 120) == 120, "config.new");
	must(!unlink("config"), "config");
	must(!fsync(fd), "config.new");
	close(fd);
	return rename("config.new", "config");
}
