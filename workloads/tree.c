/* tree DIR PROCESSES THREADS COUNT SIZE
 *
 * PROCESSES children, each with THREADS threads; every thread writes COUNT records of
 * SIZE bytes to a file of its own, DIR/p<process>-t<thread>, with pwrite.
 * I/O below DIR: PROCESSES*THREADS openat and close, PROCESSES*THREADS*COUNT pwrite64.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *dir;
static long process, count, size;

static void *work(void *number)
{
	char path[4096], *record = calloc(1, size);
	int fd;

	snprintf(path, sizeof path, "%s/p%ld-t%ld", dir, process, (long)number);
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	for (long i = 0; i < count; i++)
		if (pwrite(fd, record, size, i * size) != size)
			_exit(1);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	long processes, threads;
	int status, failed = 0;

	if (argc < 6) {
		fprintf(stderr, "tree DIR PROCESSES THREADS COUNT SIZE\n");
		return 2;
	}
	dir = argv[1];
	processes = atol(argv[2]), threads = atol(argv[3]);
	count = atol(argv[4]), size = atol(argv[5]);
	for (process = 0; process < processes; process++) {
		if (fork())
			continue;
		pthread_t thread[64];
		for (long t = 0; t < threads && t < 64; t++)
			pthread_create(&thread[t], 0, work, (void *)t);
		for (long t = 0; t < threads && t < 64; t++)
			pthread_join(thread[t], 0);
		_exit(0);
	}
	while (wait(&status) > 0)
		failed |= status;
	return failed ? 1 : 0;
}
