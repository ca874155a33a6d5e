/* Calls whose results are no bytes and sum up to more than 64 bits: children go to the last offset
 * of a file that may have any.
 *
 * far FILE CHILDREN CALLS: each child makes so many calls, and runs on another CPU than the one
 * before it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int file, children, calls, cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (argc != 4)
		return 2;
	children = atoi(argv[2]);
	calls = atoi(argv[3]);
	file = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (file < 0 || write(file, "x", 1) != 1)
		return 1;
	for (int child = 0; child < children; child++) {
		cpu_set_t on;
		int status;

		CPU_ZERO(&on);
		CPU_SET(child % cpus, &on);
		if (fork() == 0) {
			sched_setaffinity(0, sizeof on, &on);
			for (int call = 0; call < calls; call++)
				if (lseek(file, LONG_MAX, SEEK_SET) != LONG_MAX)
					_exit(1);
			_exit(0);
		}
		if (wait(&status) < 0 || status)
			return 1;
	}
	return 0;
}
