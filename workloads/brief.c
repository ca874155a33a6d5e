/* brief COUNT US PATH
 *
 * COUNT processes in turn, of which each uses US microseconds of CPU time and more: less than a tick of the
 * scheduler. Writes a line for each to PATH: its number, the nanoseconds that it has used at least, and
 * the CPU time of its whole life in microseconds as wait4(2) gives it.
 * They do not ask for their CPU time: the kernel would bring its sum up to date to answer.
 * I/O on PATH: 1 openat, 1 write, 1 close.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* Uses CPU time, and gives how much at least: each of the rounds takes as long as the shortest one, and
 * what a longer one takes may be another's. That bounds it on any machine and by any clock. */
static long long use(long long at_least_ns)
{
	long long rounds = 0, shortest_ns = LLONG_MAX, at_ns, before_ns = now_ns();

	for (; rounds < 100 || rounds * shortest_ns < at_least_ns; before_ns = at_ns) {
		at_ns = now_ns();
		if (at_ns > before_ns && at_ns - before_ns < shortest_ns)
			shortest_ns = at_ns - before_ns;
		rounds += at_ns > before_ns;
	}
	return rounds * shortest_ns;
}

int main(int argc, char **argv)
{
	long count = argc == 4 ? atol(argv[1]) : 0;
	FILE *report = count ? fopen(argv[3], "w") : 0;
	long long *least_ns = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (!report || least_ns == MAP_FAILED) {
		fprintf(stderr, "brief COUNT US PATH\n");
		return 2;
	}
	for (long i = 0; i < count; i++) {
		struct rusage used;
		pid_t child = fork();

		if (child < 0)
			return 1;
		if (!child) {
			*least_ns = use(atol(argv[2]) * 1000);
			_exit(0);
		}
		if (wait4(child, 0, 0, &used) < 0)
			return 1;
		fprintf(report, "%d %lld %ld\n", (int)child, *least_ns,
		       (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
			       used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	}
	return fclose(report) != 0;
}
