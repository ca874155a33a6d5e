/* rotate DIR: 20 logs of 100 writes of 10 bytes, all through one descriptor. A helper thread closes
 * it, opens the next log in its place and ends, while the main thread waits: the kernel may give the
 * new open file the memory of the old one.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOGS 20
#define WRITES 100

static const char *directory;
static int number, log_fd = -1;

static void *rotate(void *unused)
{
	char path[4096];

	if (log_fd >= 0)
		close(log_fd);
	snprintf(path, sizeof path, "%s/log.%d", directory, number);
	log_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	return unused;
}

int main(int count, char **arguments)
{
	if (count != 2)
		return 2;
	directory = arguments[1];
	for (number = 0; number < LOGS; number++) {
		pthread_t helper;

		if (pthread_create(&helper, 0, rotate, 0) || pthread_join(helper, 0))
			return 1;
		for (int i = 0; i < WRITES; i++)
			if (write(log_fd, "0123456789", 10) != 10)
				return 1;
	}
	return 0;
}
