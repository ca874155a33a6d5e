/* execs PATH LEFT [MODE]
 *
 * Appends one record of 10 bytes to PATH and executes itself with LEFT-1, until LEFT is 0.
 * MODE says from where: `thread` from a second thread while a third sleeps, `busy` the same
 * while the first one makes calls (not I/O) instead of sleeping, too, `vfork` in a
 * child made by vfork, `setsid` in a child that has left the session, `failing` after two
 * attempts to execute what does not exist; without it from the only thread.
 * I/O on PATH: LEFT+1 times openat, write of 10 bytes, close.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char **arguments;

static void *execute(void *unused)
{
	execv("/proc/self/exe", arguments);
	_exit(1);
	return unused;
}

static void *nothing(void *unused)
{
	pause();
	return unused;
}

static int wait_for(pid_t child)
{
	int status;

	return child > 0 && waitpid(child, &status, 0) == child && !status ? 0 : 1;
}

int main(int argc, char **argv)
{
	char left[24];
	const char *mode = argc > 3 ? argv[3] : "";
	pthread_t thread;
	pid_t child;
	int fd;

	if (argc < 3) {
		fprintf(stderr, "execs PATH LEFT [thread|busy|vfork|setsid|failing]\n");
		return 2;
	}
	fd = open(argv[1], O_CREAT | O_WRONLY | O_APPEND, 0644);
	if (write(fd, "0123456789", 10) != 10 || close(fd))
		return 1;
	if (!atol(argv[2]))
		return 0;
	snprintf(left, sizeof left, "%ld", atol(argv[2]) - 1);
	arguments = argv;
	argv[2] = left;
	if (!strcmp(mode, "thread") || !strcmp(mode, "busy")) {
		pthread_create(&thread, 0, nothing, 0);
		pthread_create(&thread, 0, execute, 0);
		while (!strcmp(mode, "busy"))
			getppid();
		pause();
	}
	if (!strcmp(mode, "vfork")) {
		child = vfork();
		if (!child) {
			execv("/proc/self/exe", argv);
			_exit(1);
		}
		return wait_for(child);
	}
	if (!strcmp(mode, "setsid")) {
		child = fork();
		if (!child) {
			setsid();
			execute(0);
		}
		return wait_for(child);
	}
	if (!strcmp(mode, "failing")) {
		execv("/nowhere/one", argv);
		execv("/dev/null", argv);
	}
	execute(0);
}
