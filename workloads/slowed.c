/* slowed INSTRUCTIONS COMMAND [ARGUMENT...]
 *
 * Executes COMMAND behind a seccomp filter that permits every system call after so many
 * multiplications, so that each call of it and of its children takes longer by a constant.
 * I/O: none.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct sock_filter filter[BPF_MAXINSNS];

int main(int argc, char **argv)
{
	struct sock_fprog program = { 0, filter };
	long count = argc > 2 ? atol(argv[1]) : -1;

	if (count < 0 || count > BPF_MAXINSNS - 2) {
		fprintf(stderr, "slowed INSTRUCTIONS COMMAND [ARGUMENT...]\n");
		return 2;
	}
	/* A filter that looks at no argument is not run for calls it always permits
	 * (kernel/seccomp.c, seccomp_is_const_allow). */
	filter[program.len++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
	while (count--)
		filter[program.len++] =
			(struct sock_filter)BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 3);
	filter[program.len++] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("seccomp");
		return 1;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}
