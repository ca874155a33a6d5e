/* threads DIR THREADS COUNT
 *
 * The first thread makes THREADS others and ends at once, before them. Each of them writes
 * COUNT records of 16 bytes to DIR/t<number> and ends by itself; the last one to end ends
 * the process.
 * I/O below DIR: THREADS openat and close, THREADS*COUNT writes of 16 bytes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *dir;
static long count;

static void *work(void *number)
{
	char path[4096], record[16] = "0123456789abcde";
	int fd;

	usleep(20000); /* the first thread is gone by then */
	snprintf(path, sizeof path, "%s/t%ld", dir, (long)number);
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	for (long i = 0; i < count; i++)
		if (write(fd, record, sizeof record) != sizeof record)
			_exit(1);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 4) {
		fprintf(stderr, "threads DIR THREADS COUNT\n");
		return 2;
	}
	dir = argv[1];
	count = atol(argv[3]);
	for (long t = 0; t < atol(argv[2]); t++)
		if (pthread_create(&thread, 0, work, (void *)t))
			return 1;
	pthread_exit(0);
}
