/* nameless DIR: files without a place in a directory, each written to once: memfd (5 bytes),
 * eventfd (8 bytes), a pidfd, epoll, and in DIR one that is given the name `published` (9 bytes).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void check(long right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

int main(int count, char **arguments)
{
	struct epoll_event event = {.events = EPOLLIN};
	unsigned long one = 1;
	char path[64];
	int memory, counter, process, events, file;

	if (count != 2)
		return 2;
	check(!chdir(arguments[1]), arguments[1]);
	memory = memfd_create("shared things", 0);
	check(memory >= 0 && write(memory, "hello", 5) == 5, "memfd");
	counter = eventfd(0, 0);
	check(counter >= 0 && write(counter, &one, 8) == 8, "eventfd");
	process = syscall(SYS_pidfd_open, getpid(), 0);
	check(process >= 0, "pidfd_open");
	lseek(process, 0, SEEK_SET); /* refused, and a call on it */
	events = epoll_create1(0);
	check(events >= 0 && !epoll_ctl(events, EPOLL_CTL_ADD, counter, &event), "epoll");
	close(events);
	file = open(".", O_TMPFILE | O_RDWR, 0644);
	check(file >= 0 && write(file, "contents\n", 9) == 9, "O_TMPFILE");
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	check(!linkat(AT_FDCWD, path, AT_FDCWD, "published", AT_SYMLINK_FOLLOW), "linkat");
	return 0;
}
