/* sync-range-is-not-durable-near-miss DIR: 1 openat of `data`, 1 write of 1 MiB, 1 sync_file_range
 * that waits, 1 fdatasync, 1 close.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = open_file("data", O_WRONLY | O_CREAT | O_TRUNC);

	must(write(fd, piece, MIB) == MIB, "data");
	must(!sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
						SYNC_FILE_RANGE_WAIT_AFTER), "data");
	must(!fdatasync(fd), "data");
	return close(fd);
}
