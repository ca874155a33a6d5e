/* small-pipe-transfers-near-miss DIR: 15,000 times a question of 20 bytes by a pipe to a child,
 * and its answer of 20 bytes by another pipe: 15,000 write and 15,000 read on each of them.
 */
#include "place.h"
#include <sys/wait.h>

int main(int argc, char **argv)
{
	char line[20] = "what about this?\n";
	int ask[2], answer[2];

	enter(argc, argv);
	must(!pipe(ask) && !pipe(answer), "pipe");
	if (!fork()) {
		for (int i = 0; i < 15000; i++) {
			must(read(ask[0], line, sizeof line) == sizeof line, "pipe");
			must(write(answer[1], line, sizeof line) == sizeof line, "pipe");
		}
		return 0;
	}
	for (int i = 0; i < 15000; i++) {
		must(write(ask[1], line, sizeof line) == sizeof line, "pipe");
		must(read(answer[0], line, sizeof line) == sizeof line, "pipe");
	}
	return wait(0) < 0;
}
