/* appenders DIR TIMES: four writers at once to each of six files in the empty DIR, TIMES records
 * each, in every way in which the kernel alone knows where a record went:
 *
 *   separate    each process has opened the file with O_APPEND
 *   shared      the processes share one open file with O_APPEND
 *   position    ... and one without, whose position they share
 *   flag        RWF_APPEND, each process with an open file of its own
 *   offset      pwrite through O_APPEND, which ignores the offset
 *   threads     threads of one process share an open file with O_APPEND
 *
 * A record says who wrote it: "W:NNNNNN:" and x, of lengths that are alike half of the time.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS 4

enum way { WRITE, FLAG, OFFSET };

static int times, shared_fd;

static void check(long right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

static void work(int who, int fd, enum way way)
{
	char record[64];
	struct iovec vector = {.iov_base = record};

	for (int i = 0; i < times; i++) {
		int length = 16 + (i % 2 ? who * 7 : 0);

		memset(record, 'x', sizeof record);
		snprintf(record, sizeof record, "%d:%06d", who, i);
		record[8] = ':';
		record[length - 1] = '\n';
		vector.iov_len = length;
		switch (way) {
		case WRITE:
			check(write(fd, record, length) == length, "write");
			break;
		case FLAG:
			check(pwritev2(fd, &vector, 1, 0, RWF_APPEND) == length, "pwritev2");
			break;
		case OFFSET:
			check(pwrite(fd, record, length, 0) == length, "pwrite");
			break;
		}
	}
}

static int opened(const char *name, int flags)
{
	int fd = open(name, O_WRONLY | O_CREAT | flags, 0644);

	check(fd >= 0, name);
	return fd;
}

static void processes(const char *name, int flags, enum way way, int is_shared)
{
	int fd = opened(name, flags), status;

	for (int who = 0; who < WRITERS; who++)
		if (!fork()) {
			work(who, is_shared ? fd : opened(name, flags), way);
			exit(0);
		}
	for (int who = 0; who < WRITERS; who++)
		check(wait(&status) > 0 && !status, "wait");
	close(fd);
}

static void *thread(void *who)
{
	work((long)who, shared_fd, WRITE);
	return 0;
}

static void threads(void)
{
	pthread_t all[WRITERS];

	shared_fd = opened("threads", O_APPEND);
	for (long who = 0; who < WRITERS; who++)
		check(!pthread_create(&all[who], 0, thread, (void *)who), "pthread_create");
	for (int who = 0; who < WRITERS; who++)
		pthread_join(all[who], 0);
	close(shared_fd);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	check(!chdir(argv[1]), argv[1]);
	times = atoi(argv[2]);
	processes("separate", O_APPEND, WRITE, 0);
	processes("shared", O_APPEND, WRITE, 1);
	processes("position", 0, WRITE, 1);
	processes("flag", 0, FLAG, 0);
	processes("offset", O_APPEND, OFFSET, 0);
	threads();
	return 0;
}
