/* waits-for-lock DIR: a child takes the flock of `lock` and keeps it for 0.2 s; its parent
 * waits for it with 1 flock.
 */
#include "place.h"
#include <sys/file.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	int ready[2];
	char byte = 0;

	enter(argc, argv);
	close(open_file("lock", O_WRONLY | O_CREAT));
	must(!pipe(ready), "pipe");
	if (!fork()) {
		must(!flock(open_file("lock", O_RDONLY), LOCK_EX), "lock");
		must(write(ready[1], &byte, 1) == 1, "pipe");
		usleep(200000);
		return 0;
	}
	must(read(ready[0], &byte, 1) == 1, "pipe");
	must(!flock(open_file("lock", O_RDONLY), LOCK_EX), "lock");
	return wait(0) < 0;
}
