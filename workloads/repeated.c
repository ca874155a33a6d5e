/* Makes 30 children one after the other, each of which gets the number 100: in a PID namespace the
 * number before the next one can be set (ns_last_pid, proc_sys_kernel(5)). The nth writes n bytes. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 30

int main(void)
{
	static char bytes[CHILDREN];
	int last = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);
	int log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);

	for (int n = 0; n < CHILDREN; n++) {
		pid_t child;

		if (pwrite(last, "99", 2, 0) != 2)
			return 1;
		child = fork();
		if (!child)
			_exit(write(log, bytes, n) != n || getpid() != 100);
		if (waitpid(child, &(int){ 0 }, 0) != 100)
			return 2;
	}
	return 0;
}
