/* listened FILE: writes 7 bytes to FILE and syncs it under a filter whose listener, another process, lets these
 * calls go on, and writes 4 bytes more by a call that the listener is not asked about. The first process makes no call
 * while the filter comes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(1);
	}
}

/* Answers until the filter is nobody's any more. */
static void listen_to(int listener)
{
	struct seccomp_notif asked = {};
	struct seccomp_notif_resp answer;

	while (!ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked)) {
		answer = (struct seccomp_notif_resp){ .id = asked.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
		must(!ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer), "answer");
		asked = (struct seccomp_notif){};
	}
	_exit(0);
}

#define ASK(nr) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ASK(__NR_write), ASK(__NR_fsync), ASK(__NR_openat),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof code / sizeof *code, code };
	int ready[2], listener, fd;
	volatile int *is_there = mmap(0, sizeof *is_there, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	must(argc == 2 && !pipe(ready), "usage: listened FILE");
	must(is_there != MAP_FAILED, "mmap");
	child = fork();
	must(child >= 0, "fork");
	if (!child) {
		must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
		listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
		*is_there = 1;
		must(listener >= 0, "listener");
		/* Not by write(2), which asks the listener. */
		must(writev(ready[1], &(struct iovec){ &listener, sizeof listener }, 1) == sizeof listener, "number");
		fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
		must(fd >= 0 && write(fd, "seven..", 7) == 7 && !fsync(fd), argv[1]);
		must(pwrite(fd, "more", 4, 7) == 4, argv[1]);
		_exit(0);
	}
	while (!*is_there)
		;
	must(read(ready[0], &listener, sizeof listener) == sizeof listener, "number");
	fd = syscall(SYS_pidfd_open, child, 0);
	fd = syscall(SYS_pidfd_getfd, fd, listener, 0);
	must(fd >= 0, "pidfd_getfd");
	if (!fork())
		listen_to(fd);
	close(fd);
	must(waitpid(child, &listener, 0) == child && !listener, "child");
	wait(&listener);
	return 0;
}
