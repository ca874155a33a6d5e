/* forges PATH
 *
 * Beside a second thread that sleeps, sends itself a SIGTRAP whose code is that of a stop at a
 * thread's end (PTRACE_EVENT_EXIT), and goes on.
 * I/O on PATH: 1 openat, 1 write of 10 bytes, 1 close.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void handle(int signal)
{
	(void)signal;
}

static void *nothing(void *unused)
{
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handle};
	siginfo_t forged;
	pthread_t thread;
	int fd;

	if (argc != 2) {
		fprintf(stderr, "forges PATH\n");
		return 2;
	}
	sigaction(SIGTRAP, &action, 0);
	if (pthread_create(&thread, 0, nothing, 0))
		return 1;
	memset(&forged, 0, sizeof forged);
	forged.si_signo = SIGTRAP;
	forged.si_code = SIGTRAP | 6 << 8;
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), SIGTRAP, &forged))
		return 1;
	fd = open(argv[1], O_CREAT | O_WRONLY | O_APPEND, 0644);
	if (write(fd, "0123456789", 10) != 10 || close(fd))
		return 1;
	return 0;
}
