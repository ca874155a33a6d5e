/* waits-for-lock-near-miss DIR: 50,000 times flock of `lock`, which nobody else wants, and
 * flock to let go of it.
 */
#include "place.h"
#include <sys/file.h>

int main(int argc, char **argv)
{
	enter(argc, argv);
	int fd = open_file("lock", O_WRONLY | O_CREAT);

	for (int i = 0; i < 50000; i++)
		must(!flock(fd, LOCK_EX) && !flock(fd, LOCK_UN), "lock");
	return close(fd);
}
