/* rename-without-fsync DIR: makes `config` of 100 bytes and `config.new` of 9,000 bytes, with one
 * openat, write and close each, and renames the second over the first.
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
	close(fd);
	must(!rename("config.new", "config"), "config");
	return 0;
}
