/* lost-events-near-miss DIR: 60,000 times pipe2, write of 1 byte, read of 1 byte, 2 close: each
 * pipe is a file of its own, more than are kept apart, and no call is lost. */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	for (int i = 0; i < 60000; i++) {
		int ends[2];
		char byte = 0;

		must(!pipe(ends), "pipe");
		must(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1, "pipe");
		close(ends[0]);
		close(ends[1]);
	}
	return 0;
}
