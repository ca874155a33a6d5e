/* Makes 30 children one after the other, each of which gets the number 20,000: who may administer a
 * PID namespace may choose (clone3(2), set_tid). The nth writes n bytes. */
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 30
#define NUMBER 20000

int main(void)
{
	static char bytes[CHILDREN];
	pid_t number = NUMBER;
	struct clone_args how = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&number,
		.set_tid_size = 1,
	};
	int log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);

	for (int n = 0; n < CHILDREN; n++) {
		long child = syscall(SYS_clone3, &how, sizeof how);

		if (child < 0)
			return 1;
		if (!child)
			_exit(write(log, bytes, n) != n || syscall(SYS_getpid) != NUMBER);
		if (waitpid(child, &(int){ 0 }, 0) != NUMBER)
			return 2;
	}
	return 0;
}
