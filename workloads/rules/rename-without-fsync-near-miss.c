/* rename-without-fsync-near-miss DIR: makes `config` of 100 bytes and `config.new` of 9,000 bytes,
 * calls fsync on the second, renames it over the first, and calls fsync on the directory.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("config", O_WRONLY | O_CREAT | O_TRUNC);

	must(write(fd, piece, 100) == 100, "config");
	close(fd);
	fd = open_file("config.new", O_WRONLY | O_CREAT | O_TRUNC);
	must(write(fd, piece, 9000) == 9000, "config.new");
	must(!fsync(fd), "config.new");
	close(fd);
	must(!rename("config.new", "config"), "config");
	fd = open_file(".", O_RDONLY | O_DIRECTORY);
	must(!fsync(fd), "the directory");
	close(fd);
	return 0;
}
