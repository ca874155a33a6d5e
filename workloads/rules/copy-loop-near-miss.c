/* copy-loop-near-miss DIR: makes `from` of 256 MiB with 256 write, and reads it with 4,096
 * pread64 of 65,536 bytes, of each of which it writes all but one byte to `to`.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[64 * KIB];

	enter(argc, argv);
	int from = make_file("from", 256 * MIB), to = open_file("to", O_WRONLY | O_CREAT);

	for (long at = 0; at < 256 * MIB; at += sizeof piece) {
		must(pread(from, piece, sizeof piece, at) == sizeof piece, "from");
		must(write(to, piece, sizeof piece - 1) == sizeof piece - 1, "to");
	}
	return close(to);
}
