/* mapped-not-synced DIR: `log` with 1 openat, 1 write of 100 bytes, 1 fsync, 1 close; `index` with
 * 1 openat, 1 ftruncate to 8 KiB, 1 mmap, a store to each of its two pages, 1 munmap, 1 close.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("log", O_WRONLY | O_CREAT | O_TRUNC);

	must(write(fd, piece, 100) == 100 && !fsync(fd), "log");
	close(fd);
	fd = open_file("index", O_RDWR | O_CREAT | O_TRUNC);
	must(!ftruncate(fd, 2 * PAGE), "index");
	char *index = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	must(index != MAP_FAILED, "index");
	index[0] = index[PAGE] = 'x';
	must(!munmap(index, 2 * PAGE), "index");
	return close(fd);
}
