/* Forks some thousand children a second, for a number of milliseconds. Each writes three bytes, two of
 * three beget a child themselves, and several live at a time. With a second argument there is a
 * child all along that has ended and that no process waits for.
 *
 * At the end it says of every child its number, and when it was made and had ended, in nanoseconds of
 * CLOCK_MONOTONIC. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 200000

struct child {
	long made_ns;
	long ended_ns;
	int pid;
};

static struct child *children;
static int *count;

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void work(int log, struct child *own)
{
	own->pid = getpid();
	for (int i = 0; i < 3; i++)
		if (write(log, "x", 1) != 1)
			exit(1);
}

static pid_t beget(int log, int depth)
{
	int at = __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
	struct child *own = &children[at];
	pid_t pid;

	if (at >= MOST)
		exit(1);
	own->made_ns = now_ns();
	pid = fork();
	if (pid)
		return pid;
	work(log, own);
	if (depth)
		waitpid(beget(log, depth - 1), 0, 0);
	own->ended_ns = now_ns();
	_exit(0);
}

int main(int argc, char **argv)
{
	long until_ns = now_ns() + atol(argv[1]) * 1000000L;
	int log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);
	int flags = MAP_SHARED | MAP_ANONYMOUS;
	pid_t before = 0, next;

	children = mmap(0, MOST * sizeof *children, PROT_READ | PROT_WRITE, flags, -1, 0);
	count = mmap(0, sizeof *count, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (argc > 2 && !fork())
		_exit(0);
	for (int i = 0; now_ns() < until_ns; i++) {
		next = beget(log, i % 3);
		if (before)
			waitpid(before, 0, 0);
		before = next;
		usleep(1000);
	}
	waitpid(before, 0, 0);
	for (int i = 0; i < *count; i++)
		printf("%d %ld %ld\n", children[i].pid, children[i].made_ns, children[i].ended_ns);
	return 0;
}
