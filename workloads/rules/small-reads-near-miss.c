/* small-reads-near-miss DIR: makes `input` of 1 MiB with 1 write, and reads 131,072 times 8
 * bytes of it with pread64, each once, in an order without neighbours.
 */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	int fd = make_file("input", MIB);
	char word[8];

	for (long i = 0; i < 131072; i++)
		must(pread(fd, word, 8, shuffled(i, 131072) * 8) == 8, "input");
	return close(fd);
}
