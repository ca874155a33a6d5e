/* promises DIR: what is durable when it is reported, and what is not, in the empty DIR.
 *
 * `log`: 5 times 1 write of 10 bytes, then 1 write to standard output (a pipe of its own), then 1
 * more that has no news. `answers`: 3 times 1 write of 10 bytes and 1 send on an accepted socket; `asks`: the same on the
 * other end of the connection. `dsync`: 4
 * writes of 10 bytes through O_DSYNC, each reported. `flagged`: 4 by pwritev2 with RWF_DSYNC, each
 * reported. `half`: 4 by pwritev2, every other with RWF_SYNC. `by-path`, `by-descriptor`: O_TMPFILE,
 * 1 write of 100 bytes, linkat of /proc/self/fd/N or with AT_EMPTY_PATH (root).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static const char record[100];

static void check(int right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

static int made(const char *name, int flags)
{
	int fd = open(name, O_WRONLY | O_CREAT | flags, 0644);

	check(fd >= 0, name);
	return fd;
}

static void append(int fd)
{
	check(write(fd, record, 10) == 10, "write");
}

static void append_with(int fd, int number, int flags)
{
	struct iovec piece = {(void *)record, 10};

	check(pwritev2(fd, &piece, 1, 10L * number, flags) == 10, "pwritev2");
}

static void report(void)
{
	check(write(1, "ok\n", 3) == 3, "standard output");
}

static void publish(const char *name, int by_path)
{
	char descriptor[40];
	int fd = open(".", O_TMPFILE | O_WRONLY, 0644);

	check(fd >= 0 && write(fd, record, 100) == 100, "O_TMPFILE");
	snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", fd);
	if (by_path)
		check(!linkat(AT_FDCWD, descriptor, AT_FDCWD, name, AT_SYMLINK_FOLLOW), name);
	else
		check(!linkat(fd, "", AT_FDCWD, name, AT_EMPTY_PATH), name);
	close(fd);
}

/* Of `ends`, the first is accepted and the second connected. */
static void connect_to_self(int *ends)
{
	struct sockaddr_un name = {AF_UNIX, ""};
	socklen_t bytes = sizeof(sa_family_t); /* autobind, unix(7) */
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	check(!bind(listener, (void *)&name, bytes) && !listen(listener, 1), "listen");
	bytes = sizeof name;
	check(!getsockname(listener, (void *)&name, &bytes), "getsockname");
	ends[1] = socket(AF_UNIX, SOCK_STREAM, 0);
	check(!connect(ends[1], (void *)&name, bytes), "connect");
	ends[0] = accept(listener, NULL, NULL);
	check(ends[0] >= 0, "accept");
}

int main(int argc, char **argv)
{
	int output[2], ends[2], fd;

	check(argc == 2 && !chdir(argv[1]), "DIR");
	check(!pipe(output) && dup2(output[1], 1) == 1, "pipe");
	connect_to_self(ends);
	fd = made("log", O_APPEND);
	for (int i = 0; i < 5; i++) {
		append(fd);
		report();
		report();
	}
	fd = made("answers", 0);
	for (int i = 0; i < 3; i++) {
		append(fd);
		check(send(ends[0], "ok", 2, 0) == 2, "send");
	}
	fd = made("asks", 0);
	for (int i = 0; i < 3; i++) {
		append(fd);
		check(send(ends[1], "ok", 2, 0) == 2, "send");
	}
	fd = made("dsync", O_DSYNC);
	for (int i = 0; i < 4; i++) {
		append(fd);
		report();
	}
	fd = made("flagged", 0);
	for (int i = 0; i < 4; i++) {
		append_with(fd, i, RWF_DSYNC);
		report();
	}
	fd = made("half", 0);
	for (int i = 0; i < 4; i++)
		append_with(fd, i, i % 2 ? RWF_SYNC : 0);
	publish("by-path", 1);
	publish("by-descriptor", 0);
	return 0;
}
