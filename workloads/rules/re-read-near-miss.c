/* re-read-near-miss DIR: makes `input` of 64 MiB with 64 write, and reads it with pread64 of
 * 1 MiB once, and then its first 63 MiB again: 127 reads.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = make_file("input", 64 * MIB);

	for (int time = 0; time < 2; time++)
		for (long at = 0; at < (64 - time) * MIB; at += MIB)
			must(pread(fd, piece, MIB, at) == MIB, "input");
	return close(fd);
}
