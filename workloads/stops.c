/* stops COMMAND...
 *
 * Runs COMMAND and stops it at every write(2), before and after: the least that a tracer with
 * ptrace and a seccomp filter must do to learn what a call was and what it returned. It looks
 * at each stop and keeps nothing. What it costs is the kernel's share of such a tracer's cost.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int stop_at_writes(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int main(int argc, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;
	struct __ptrace_syscall_info info;
	enum __ptrace_request resume = PTRACE_CONT;
	int status;
	pid_t child;

	if (argc < 2) {
		fprintf(stderr, "stops COMMAND...\n");
		return 2;
	}
	child = fork();
	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) || raise(SIGSTOP) || stop_at_writes())
			_exit(126);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (waitpid(child, &status, 0) < 0 || ptrace(PTRACE_SETOPTIONS, child, 0, options))
		return 1;
	while (!ptrace(resume, child, 0, 0) && waitpid(child, &status, __WALL) == child &&
	       WIFSTOPPED(status)) {
		/* On from the stop before the call to the one after it. */
		resume = status >> 16 == PTRACE_EVENT_SECCOMP ? PTRACE_SYSCALL : PTRACE_CONT;
		ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
