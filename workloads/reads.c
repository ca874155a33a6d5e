/* reads DIR WAY: reads of files in DIR, where "file" of 100,003 bytes is made first.
 *
 * "mixed": a descriptor, one made of it by dup and a child that shares it read in turn, with pread
 *      between; the end is read three times; readv, preadv, preadv2 at the position and elsewhere;
 *      sendfile, copy_file_range and splice with and without an offset; failed reads. A directory,
 *      a pipe, a socket and /proc/self/stat are read too.
 * "threads": two threads read "file" through one descriptor to its end, 7 and 13 bytes at once.
 * "many": 10,000 reads of 10 bytes at once.
 * "million": a million reads of one byte.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 100003

static char data[BYTES];
static int fd;

static void check(long right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

static void make(void)
{
	int made = open("file", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	for (int i = 0; i < BYTES; i++)
		data[i] = i % 251;
	check(write(made, data, BYTES) == BYTES && !close(made), "file");
	fd = open("file", O_RDONLY);
	check(fd >= 0, "file");
}

static void shared(void)
{
	int other = dup(fd), status;

	for (int i = 0; i < 50; i++) {
		check(read(fd, data, 100) == 100, "read");
		check(pread(other, data, 33, 5000 + i) == 33, "pread");
		check(read(other, data, 1) == 1, "read");
	}
	if (!fork()) {
		check(read(fd, data, 500) == 500, "read");
		_exit(0);
	}
	check(wait(&status) > 0 && status == 0, "child");
	check(read(fd, data, 5) == 5, "read"); /* at 5,550 */
	check(lseek(fd, -10, SEEK_END) == BYTES - 10, "lseek");
	check(read(other, data, 100) == 10, "read");
	for (int i = 0; i < 3; i++)
		check(read(fd, data, 100) == 0, "read");
	check(pread(fd, data, 100, 1 << 20) == 0, "pread");
	close(other);
}

static void vectors(void)
{
	char *volatile nowhere = (char *)1;
	struct iovec two[2] = {{data, 3}, {data + 10, 4}};

	check(lseek(fd, 1000, SEEK_SET) == 1000, "lseek");
	check(readv(fd, two, 2) == 7, "readv");
	check(preadv(fd, two, 2, 2000) == 7, "preadv");
	check(preadv2(fd, two, 2, -1, 0) == 7, "preadv2"); /* at 1,007 */
	check(preadv2(fd, two, 2, 3000, 0) == 7, "preadv2");
	check(read(fd, data, 0) == 0, "read");
	check(read(fd, nowhere, 10) == -1, "read");
}

static void moved(void)
{
	int to = open("to", O_RDWR | O_CREAT | O_TRUNC, 0644), ends[2];
	off_t at = 4000;

	check(to >= 0 && !pipe(ends), "to");
	check(sendfile(to, fd, &at, 100) == 100 && at == 4100, "sendfile");
	check(sendfile(to, fd, 0, 50) == 50, "sendfile"); /* at 1,014 */
	check(copy_file_range(fd, &at, to, 0, 200, 0) == 200, "copy_file_range");
	check(copy_file_range(fd, 0, to, 0, 20, 0) == 20, "copy_file_range"); /* at 1,064 */
	check(splice(fd, &at, ends[1], 0, 300, 0) == 300, "splice");
	check(splice(fd, 0, ends[1], 0, 30, 0) == 30, "splice"); /* at 1,084 */
	check(splice(ends[0], 0, to, 0, 330, 0) == 330, "splice");
	close(to);
}

static void no_files(void)
{
	int directory = open(".", O_RDONLY), proc = open("/proc/self/stat", O_RDONLY), ends[2];

	check(read(directory, data, 10) == -1, "directory");
	check(read(proc, data, 10) == 10, "stat");
	check(!pipe(ends) && write(ends[1], "abc", 3) == 3 && read(ends[0], data, 3) == 3, "pipe");
	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends) && write(ends[1], "abc", 3) == 3 &&
	      read(ends[0], data, 3) == 3, "socket");
}

/* A description of its own each time, mapped once. */
static void opened_again(void)
{
	volatile unsigned char *all;

	for (int i = 0; i < 3; i++) {
		int again = open("file", O_RDONLY);

		check(read(again, data, 9) == 9 && !close(again), "again");
	}
	all = mmap(0, BYTES, PROT_READ, MAP_PRIVATE, fd, 4096);
	check(all != MAP_FAILED && all[40000] == (40000 + 4096) % 251, "mmap");
}

static void *reader(void *bytes)
{
	char own[16];

	while (read(fd, own, (long)bytes) > 0)
		;
	return 0;
}

static void small(long count, int bytes)
{
	for (long i = 0; i < count; i++)
		if (read(fd, data, bytes) != bytes)
			check(lseek(fd, 0, SEEK_SET) == 0, "lseek");
}

int main(int argc, char **argv)
{
	pthread_t one, other;

	if (argc != 3)
		return 2;
	check(!chdir(argv[1]), argv[1]);
	make();
	if (!strcmp(argv[2], "mixed")) {
		shared();
		vectors();
		moved();
		no_files();
		opened_again();
	} else if (!strcmp(argv[2], "threads")) {
		check(!pthread_create(&one, 0, reader, (void *)7L), "thread");
		check(!pthread_create(&other, 0, reader, (void *)13L), "thread");
		check(!pthread_join(one, 0) && !pthread_join(other, 0), "join");
	} else if (!strcmp(argv[2], "many")) {
		small(10000, 10);
	} else if (!strcmp(argv[2], "million")) {
		small(1000000, 1);
	} else {
		return 2;
	}
	return 0;
}
