/* re-read DIR: makes `input` of 16 MiB with 16 write, and reads it 32 times with pread64 of
 * 1 MiB: 512 reads.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[MIB];

	enter(argc, argv);
	int fd = make_file("input", 16 * MIB);

	for (int time = 0; time < 32; time++)
		for (long at = 0; at < 16 * MIB; at += MIB)
			must(pread(fd, piece, MIB, at) == MIB, "input");
	return close(fd);
}
