/* beside FILE HOW: 100 appends with fsync while the other thread HOW: `computes` or `sleeps` until they are done, `waits`
 * for them, or `polls` with short sleeps, or `looks` at each of the moments shortly ahead. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int goes, done;
static const char *how;

static void *other(void *unused)
{
	const struct timespec long_sleep = { 0, 50000000 }, short_sleep = { 0, 10000000 };

	goes = 1;
	while (!done) {
		if (!strcmp(how, "sleeps"))
			nanosleep(&long_sleep, 0);
		if (!strcmp(how, "polls"))
			nanosleep(&short_sleep, 0);
		if (!strcmp(how, "looks")) {
			struct timespec until;

			clock_gettime(CLOCK_MONOTONIC, &until);
			until.tv_nsec += short_sleep.tv_nsec;
			until.tv_sec += until.tv_nsec / 1000000000;
			until.tv_nsec %= 1000000000;
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
		}
	}
	return unused;
}

static void *syncs(void *file)
{
	int to = open(file, O_CREAT | O_TRUNC | O_WRONLY, 0644);

	for (int i = 0; i < 100; i++)
		if (write(to, "x", 1) != 1 || fsync(to))
			_exit(1);
	done = 1;
	return file;
}

int main(int count, char **words)
{
	pthread_t thread;

	how = words[count - 1];
	if (!strcmp(how, "waits")) {
		pthread_create(&thread, 0, syncs, words[1]);
	} else {
		pthread_create(&thread, 0, other, 0);
		while (!goes)
			;
		syncs(words[1]);
	}
	pthread_join(thread, 0);
	return 0;
}
