/* Processes that each make, write, read and close files of their own:
 *
 *     many DIRECTORY PROCESSES FILES
 *
 * prints when it began and when it ended, nanoseconds of CLOCK_MONOTONIC. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 16

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int make(const char *directory, int process, int files)
{
	char path[4096], bytes[100] = "";

	for (int i = 0; i < files; i++) {
		snprintf(path, sizeof path, "%s/%d-%d", directory, process, i);
		int file = open(path, O_CREAT | O_RDWR | O_EXCL, 0600);

		if (file < 0 || write(file, bytes, sizeof bytes) != sizeof bytes ||
		    pread(file, bytes, sizeof bytes, 0) != sizeof bytes || close(file)) {
			perror(path);
			return 1;
		}
	}
	return 0;
}

int main(int count, char **arguments)
{
	long long begun = now_ns();
	int processes, files, under_way = 0, failed = 0, status;

	if (count != 4)
		return 2;
	processes = atoi(arguments[2]);
	files = atoi(arguments[3]);
	if (processes == 1) {
		failed = make(arguments[1], 0, files);
	} else {
		for (int i = 0; i < processes; i++) {
			pid_t child = fork();

			if (child < 0)
				return 1;
			if (!child)
				_exit(make(arguments[1], i, files));
			if (++under_way == AT_ONCE && wait(&status) > 0) {
				failed |= status;
				under_way--;
			}
		}
		while (wait(&status) > 0)
			failed |= status;
	}
	printf("%lld %lld\n", begun, now_ns());
	return failed != 0;
}
