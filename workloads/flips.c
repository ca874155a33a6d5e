/* flips FILE COUNT: COUNT writes of 4096 bytes of which another thread changes the bytes all the time,
 * while four threads write to the same open file. Then writes from where nothing can be read. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char shared[4096];
static volatile int done;
static int fd, count;

static void *flips(void *nothing)
{
	for (unsigned int turn = 0; !done; turn++)
		memset(shared, 'a' + turn % 26, sizeof shared);
	return nothing;
}

static void *writes(void *number)
{
	char own[100];

	memset(own, '0' + (int)(intptr_t)number, sizeof own);
	for (int i = 0; i < count; i++)
		if (write(fd, own, 50 + i % 50) < 0)
			abort();
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread[5];
	char *pages;

	if (argc != 3)
		return 2;
	count = atoi(argv[2]);
	fd = open(argv[1], O_CREAT | O_RDWR, 0644);
	pthread_create(&thread[0], 0, flips, 0);
	for (intptr_t i = 1; i < 5; i++)
		pthread_create(&thread[i], 0, writes, (void *)i);
	for (int i = 0; i < count; i++)
		if (write(fd, shared, sizeof shared) != sizeof shared)
			return 1;
	for (int i = 1; i < 5; i++)
		pthread_join(thread[i], 0);
	done = 1;
	pthread_join(thread[0], 0);
	pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(pages, 'p', 8192);
	munmap(pages + 4096, 4096);
	/* The first page only, and nothing. */
	if (write(fd, pages, 8192) != 4096 || write(fd, pages + 4096, 10) != -1)
		return 1;
	return 0;
}
