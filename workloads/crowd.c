/* crowd DIR THREADS COUNT
 *
 * THREADS threads that live at the same time: each opens DIR/t<number>, waits for all others,
 * writes COUNT records of 16 bytes, waits for all others again, and ends.
 * I/O below DIR: THREADS openat and close, THREADS*COUNT writes of 16 bytes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *dir;
static long count;
static pthread_barrier_t all;

static void *work(void *number)
{
	char path[4096], record[16] = "0123456789abcde";
	int fd;

	snprintf(path, sizeof path, "%s/t%ld", dir, (long)number);
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	pthread_barrier_wait(&all);
	for (long i = 0; i < count; i++)
		if (write(fd, record, sizeof record) != sizeof record)
			_exit(1);
	pthread_barrier_wait(&all);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	long threads;

	if (argc < 4) {
		fprintf(stderr, "crowd DIR THREADS COUNT\n");
		return 2;
	}
	dir = argv[1];
	threads = atol(argv[2]);
	count = atol(argv[3]);
	pthread_barrier_init(&all, 0, threads);
	for (long t = 0; t < threads; t++)
		if (pthread_create(&thread, 0, work, (void *)t))
			_exit(1);
	pthread_exit(0);
}
