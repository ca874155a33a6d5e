/* fdatasync-suffices DIR: makes `table` with 400 write of 4 KiB and 1 fsync; then 400 times pwrite64
 * of 4 KiB inside it and fsync; 1 close.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("table", O_WRONLY | O_CREAT | O_TRUNC);

	for (int i = 0; i < 400; i++)
		must(write(fd, piece, PAGE) == PAGE, "table");
	must(!fsync(fd), "table");
	for (int i = 0; i < 400; i++) {
		must(pwrite(fd, piece, PAGE, i * PAGE) == PAGE, "table");
		must(!fsync(fd), "table");
	}
	return close(fd);
}
