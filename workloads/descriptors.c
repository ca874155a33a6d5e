/* descriptors DIR
 *
 * Writes by descriptors that change what they stand for. I/O below DIR, by file:
 *   a: 3 writes of 1 byte (1 by itself, 1 by a dup, 1 by a child that has it by fork)
 *   b: 2 writes of 2 bytes through the number that was a's (dup2)
 *   c: 4 pwrites of 3 bytes through the number that was b's (close, open)
 *   d: 1 write of 5 bytes by a child that shares the descriptors (CLONE_FILES), through a
 *      number that its parent has opened
 *   e: 2 writes of 7 bytes at relative paths from a directory's descriptor, and renamed to f
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect(int is)
{
	if (!is)
		_exit(1);
}

static int made(const char *name)
{
	int fd = open(name, O_CREAT | O_WRONLY, 0644);

	expect(fd >= 0);
	return fd;
}

int main(int argc, char **argv)
{
	int a, b, copy, fd, dir, status;
	pid_t child;

	expect(argc > 1 && !chdir(argv[1]));
	a = made("a");
	copy = dup(a);
	expect(write(a, "x", 1) == 1 && write(copy, "x", 1) == 1 && !close(copy));
	child = fork();
	if (!child) {
		expect(write(a, "x", 1) == 1);
		_exit(0);
	}
	expect(waitpid(child, &status, 0) == child && !status);

	b = made("b");
	expect(dup2(b, a) == a && write(a, "yy", 2) == 2 && write(a, "yy", 2) == 2);
	close(b);
	fd = made("c");
	expect(fd == b);
	for (int i = 0; i < 4; i++)
		expect(pwrite(fd, "zzz", 3, 3 * i) == 3);
	close(fd);

	fd = made("d");
	/* Raw: without a stack of its own the child goes on as after fork. */
	child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (!child) {
		expect(write(fd, "sssss", 5) == 5);
		close(fd);
		_exit(0);
	}
	expect(waitpid(child, &status, 0) == child && !status);

	/* The child has closed the number for both. */
	dir = open(".", O_RDONLY | O_DIRECTORY);
	expect(dir == fd);
	fd = openat(dir, "./e", O_CREAT | O_WRONLY, 0644);
	expect(write(fd, "eeeeeee", 7) == 7 && write(fd, "eeeeeee", 7) == 7);
	expect(!renameat(dir, "e", dir, "f") && !fsync(fd));
	return 0;
}
