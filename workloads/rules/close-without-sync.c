/* close-without-sync DIR: `one` and `other`, each with 1 openat, 1 write of 100 bytes, 1 close; fsync
 * on `one` alone.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("one", O_WRONLY | O_CREAT | O_TRUNC);

	must(write(fd, piece, 100) == 100 && !fsync(fd), "one");
	close(fd);
	fd = open_file("other", O_WRONLY | O_CREAT | O_TRUNC);
	must(write(fd, piece, 100) == 100, "other");
	return close(fd);
}
