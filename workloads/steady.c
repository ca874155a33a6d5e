/* steady PATH COUNT PAUSE_US [calls]
 *
 * Writes COUNT records of 8 bytes, PAUSE_US microseconds apart, then the line "done".
 * With `calls` it makes 100 calls of getpid after each record.
 * SIGTERM ends the records early, not the program.
 * I/O on PATH: 1 openat, COUNT writes of 8 bytes and one of 5, 1 close.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t enough;

static void end(int signal)
{
	(void)signal;
	enough = 1;
}

int main(int argc, char **argv)
{
	struct timespec pause = {0};
	int fd;

	if (argc < 4)
		return 2;
	signal(SIGTERM, end);
	fd = open(argv[1], O_CREAT | O_WRONLY | O_APPEND, 0644);
	pause.tv_sec = atol(argv[3]) / 1000000;
	pause.tv_nsec = atol(argv[3]) % 1000000 * 1000;
	for (long i = 0; i < atol(argv[2]) && !enough; i++) {
		if (write(fd, "1234567\n", 8) != 8)
			return 1;
		if (argc > 4)
			for (int call = 0; call < 100; call++)
				syscall(SYS_getpid);
		nanosleep(&pause, 0);
	}
	if (write(fd, "done\n", 5) != 5)
		return 1;
	return close(fd) ? 1 : 0;
}
