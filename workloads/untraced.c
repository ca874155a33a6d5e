/* untraced PATH clone|clone3
 *
 * Makes a child with CLONE_UNTRACED, which writes one byte to PATH.
 * I/O on PATH: 1 openat, 1 write of 1 byte by the child, 1 write of 2 bytes by the parent.
 * Exits with 1 if the flags that it had passed were changed meanwhile.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct clone_args how = {.flags = CLONE_UNTRACED, .exit_signal = SIGCHLD};
	unsigned long flags = CLONE_UNTRACED | SIGCHLD;
	int status, fd;
	long child;

	if (argc < 3 || (fd = open(argv[1], O_CREAT | O_WRONLY, 0644)) < 0)
		return 2;
#ifdef __x86_64__
	if (!strcmp(argv[2], "clone"))
		/* The first argument is read back from its register. */
		__asm__ volatile("xor %%edx, %%edx\n\txor %%r10d, %%r10d\n\txor %%r8d, %%r8d\n\t"
				 "xor %%esi, %%esi\n\tsyscall"
				 : "=a"(child), "+D"(flags)
				 : "0"((long)SYS_clone)
				 : "rcx", "r8", "r10", "r11", "rdx", "rsi", "memory");
	else
#endif
		child = syscall(SYS_clone3, &how, sizeof how);
	if (!child)
		_exit(write(fd, "c", 1) != 1);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return 3;
	if (write(fd, "pp", 2) != 2)
		return 4;
	return flags != (CLONE_UNTRACED | SIGCHLD) || how.flags != CLONE_UNTRACED;
}
