/* One-byte writes from two places, in turns: on a busy machine whole moments have no sample. sites FILE [thread] */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Neither inlined nor the last call of its caller, which a compiler makes a jump. */
#define APART __attribute__((noinline))
#define AFTER __asm__ volatile("")

static int file;

APART void put(int count)
{
	for (int i = 0; i < count; i++)
		if (write(file, "x", 1) != 1)
			_exit(1);
	AFTER;
}

APART void often(void)
{
	put(3000);
	AFTER;
}

APART void seldom(void)
{
	put(1000);
	AFTER;
}

APART void *work(void *unused)
{
	(void)unused;
	for (int i = 0; i < 20; i++) {
		often();
		seldom();
	}
	AFTER;
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2)
		return 2;
	file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (file < 0) {
		perror(argv[1]);
		return 1;
	}
	if (argc > 2 && !strcmp(argv[2], "thread"))
		return pthread_create(&thread, 0, work, 0) || pthread_join(thread, 0);
	work(0);
	AFTER;
	return 0;
}
