/* waiters DIR THREADS COUNT
 *
 * THREADS threads besides the first wait for a byte of standard input each. Then each writes COUNT
 * records of 16 bytes to DIR/w<number>.
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
	char path[4096], record[16] = "0123456789abcde", byte;
	int fd;

	if (read(0, &byte, 1) != 1)
		_exit(1);
	snprintf(path, sizeof path, "%s/w%ld", dir, (long)number);
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	for (long i = 0; i < count; i++)
		if (write(fd, record, sizeof record) != sizeof record)
			_exit(1);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	long wanted;

	if (argc < 4 || (wanted = atol(argv[2])) < 1 || wanted > 64) {
		fprintf(stderr, "waiters DIR THREADS COUNT\n");
		return 2;
	}
	dir = argv[1];
	count = atol(argv[3]);
	for (long i = 0; i < wanted; i++)
		pthread_create(&threads[i], 0, work, (void *)i);
	for (long i = 0; i < wanted; i++)
		pthread_join(threads[i], 0);
	return 0;
}
