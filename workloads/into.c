/* into CGROUP PROGRAM ARGUMENTS...
 *
 * Makes a child in the cgroup of this directory (clone3, CLONE_INTO_CGROUP), as systemd does, which
 * becomes the program, and waits for it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct clone_args how = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
	int status = 1;
	long child;

	if (argc < 3) {
		fprintf(stderr, "into CGROUP PROGRAM ARGUMENTS...\n");
		return 2;
	}
	how.cgroup = open(argv[1], O_PATH | O_CLOEXEC);
	child = syscall(SYS_clone3, &how, sizeof how);
	if (!child) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("into");
		return 1;
	}
	return status ? 1 : 0;
}
