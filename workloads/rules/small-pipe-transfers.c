/* small-pipe-transfers DIR: a child writes 50,000 lines of 20 bytes to a pipe, with a write for
 * each; its parent reads them with read of at most 65,536 bytes.
 */
#include "place.h"
#include <sys/wait.h>

int main(int argc, char **argv)
{
	static char piece[64 * KIB];
	char line[20] = "something happened\n";
	int ends[2];

	enter(argc, argv);
	must(!pipe(ends), "pipe");
	if (!fork()) {
		for (int i = 0; i < 50000; i++)
			must(write(ends[1], line, sizeof line) == sizeof line, "pipe");
		return 0;
	}
	close(ends[1]);
	while (read(ends[0], piece, sizeof piece) > 0)
		;
	return wait(0) < 0;
}
