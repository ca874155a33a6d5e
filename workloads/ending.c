/* ending THREADS
 *
 * THREADS threads end by themselves while the first one ends the process.
 * I/O: none.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t all_there;

static void *work(void *unused)
{
	pthread_barrier_wait(&all_there);
	return unused;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 0;
	pthread_t thread;

	if (threads < 1) {
		fprintf(stderr, "ending THREADS\n");
		return 2;
	}
	pthread_barrier_init(&all_there, 0, threads + 1);
	for (long i = 0; i < threads; i++)
		if (pthread_create(&thread, 0, work, 0))
			return 1;
	pthread_barrier_wait(&all_there);
	_exit(0);
}
