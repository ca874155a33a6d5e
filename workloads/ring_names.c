/* ring_names DIR HOW: io_uring operations alone change names and files in DIR, where there are the
 * directory "deep" and the symbolic link "way" to it. HOW is how they are carried out: "plain",
 * "async" (by worker threads), "sqpoll" (submitted by a thread of the kernel) or "defer"
 * (completed when the program waits).
 *
 * Made through "way": "deep/new" of 5,000 bytes, synced, and renamed to "final" by three operations
 * linked to one another; "deep/dir" and in it "inner" of 10 bytes, in the ring's own table of files;
 * "deep" becomes "deeper"; "final" gets the second name "deeper/second" and loses the first;
 * "symbolic" says "nowhere"; "gone" and the directory "empty" are made and removed again; "one" of 3
 * bytes and "two" of 6 are exchanged; "unsynced" of 700 bytes replaces "kept" of 4 without a sync;
 * "space" of 3 bytes is cut to 2 and given space up to 8,192; "two" gets the attributes user.a and
 * user.b. Each kind of operation fails once, too. With "splice" there is nothing but "spliced", of
 * 1,000 bytes that come from a pipe.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of Linux 6.0, 6.1 and 6.9; headers may be older. */
#define IORING_OP_FSETXATTR 41
#define IORING_OP_SETXATTR 42
#define IORING_OP_FTRUNCATE 55
#define SETUP_SINGLE_ISSUER (1U << 12)
#define SETUP_DEFER_TASKRUN (1U << 13)
#define EXCHANGE 2
#define NOREPLACE 1

static struct io_uring_sqe *entries;
static struct io_uring_cqe *results;
static unsigned *tail, *mask, *slots, *head, *done_mask, *state;
static unsigned setup, flags, filled;
static int ring;

static void check(long right, const char *what)
{
	if (!right) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		exit(1);
	}
}

static void make_ring(void)
{
	struct io_uring_params p = {.flags = setup, .sq_thread_idle = 20};
	int none[4] = {-1, -1, -1, -1};
	char *queues;

	ring = syscall(SYS_io_uring_setup, 8, &p);
	check(ring >= 0 && p.features & IORING_FEAT_SINGLE_MMAP, "io_uring_setup");
	queues = mmap(0, p.cq_off.cqes + p.cq_entries * sizeof *results + 4096,
		      PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	entries = mmap(0, p.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		       IORING_OFF_SQES);
	check(queues != MAP_FAILED && (void *)entries != MAP_FAILED, "mmap");
	tail = (unsigned *)(queues + p.sq_off.tail);
	mask = (unsigned *)(queues + p.sq_off.ring_mask);
	slots = (unsigned *)(queues + p.sq_off.array);
	state = (unsigned *)(queues + p.sq_off.flags);
	head = (unsigned *)(queues + p.cq_off.head);
	done_mask = (unsigned *)(queues + p.cq_off.ring_mask);
	results = (struct io_uring_cqe *)(queues + p.cq_off.cqes);
	check(!syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, none, 4), "register");
}

static void put(struct io_uring_sqe one)
{
	unsigned slot = filled++ & *mask;

	entries[slot] = one;
	entries[slot].flags |= flags;
	slots[slot] = slot;
}

/* Submits what was put, at once: a thread of the kernel would take a part, and a chain ends where
 * what it has taken does. Waits for it; the result of the last. */
static long wait_for(unsigned count)
{
	unsigned enter = IORING_ENTER_GETEVENTS;
	long result = 0;

	__atomic_store_n(tail, filled, __ATOMIC_RELEASE);
	if (setup & IORING_SETUP_SQPOLL)
		enter |= IORING_ENTER_SQ_WAKEUP;
	check(syscall(SYS_io_uring_enter, ring, count, count, enter, 0, 0) >= 0, "io_uring_enter");
	while (count--) {
		result = results[*head & *done_mask].res;
		__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	}
	return result;
}

static long done(struct io_uring_sqe one)
{
	put(one);
	return wait_for(1);
}

#define SQE(code, descriptor, ...) \
	((struct io_uring_sqe){.opcode = IORING_OP_##code, .fd = descriptor, __VA_ARGS__})
#define AT(pointer) .addr = (unsigned long)(pointer)
#define AND(pointer) .off = (unsigned long)(pointer)
#define IS(result, ...) check(done(SQE(__VA_ARGS__)) == (result), #__VA_ARGS__)
#define HERE AT_FDCWD

static int made(const char *path)
{
	int fd = done(SQE(OPENAT, HERE, AT(path), .len = 0640, .open_flags = O_RDWR | O_CREAT));

	check(fd >= 0, path);
	return fd;
}

static void file_of(const char *path, const char *data, unsigned bytes)
{
	int fd = made(path);

	IS(bytes, WRITE, fd, AT(data), .len = bytes, .off = -1);
	IS(0, CLOSE, fd);
}

static void replaced(void)
{
	static char data[5000];
	int fd = made("way/new");

	memset(data, 'n', sizeof data);
	put(SQE(WRITE, fd, AT(data), .len = sizeof data, .flags = IOSQE_IO_LINK));
	put(SQE(FSYNC, fd, .flags = IOSQE_IO_LINK));
	put(SQE(RENAMEAT, HERE, AT("way/new"), .len = HERE, AND("final")));
	check(wait_for(3) == 0, "linked");
	IS(0, CLOSE, fd);
	file_of("kept", "kept", 4);
	memset(data, 'u', sizeof data);
	file_of("unsynced", data, 700);
	IS(0, RENAMEAT, HERE, AT("unsynced"), .len = HERE, AND("kept"));
}

static void directories(void)
{
	IS(0, MKDIRAT, HERE, AT("way/dir"), .len = 0750);
	IS(0, OPENAT, HERE, AT("way/dir/inner"), .len = 0600, .open_flags = O_WRONLY | O_CREAT,
	   .file_index = 2);
	IS(10, WRITE, 1, AT("0123456789"), .len = 10, .flags = IOSQE_FIXED_FILE);
	IS(0, CLOSE, 0, .file_index = 2);
	IS(0, RENAMEAT, HERE, AT("deep"), .len = HERE, AND("deeper"));
	IS(0, LINKAT, HERE, AT("final"), .len = HERE, AND("deeper/second"));
	IS(0, UNLINKAT, HERE, AT("final"));
	IS(0, SYMLINKAT, HERE, AT("nowhere"), AND("symbolic"));
	IS(0, MKDIRAT, HERE, AT("empty"), .len = 0700);
	IS(0, UNLINKAT, HERE, AT("empty"), .unlink_flags = AT_REMOVEDIR);
	file_of("gone", "gone", 4);
	IS(0, UNLINKAT, HERE, AT("gone"));
}

static void exchanged(void)
{
	int fd;

	file_of("one", "one", 3);
	file_of("two", "second", 6);
	IS(0, RENAMEAT, HERE, AT("one"), .len = HERE, AND("two"), .rename_flags = EXCHANGE);
	IS(-EEXIST, RENAMEAT, HERE, AT("one"), .len = HERE, AND("two"), .rename_flags = NOREPLACE);
	fd = made("two");
	IS(0, FSETXATTR, fd, AT("user.a"), AND("first"), .len = 5);
	IS(0, CLOSE, fd);
	IS(0, SETXATTR, 0, AT("user.b"), AND("second"), .len = 6, .addr3 = (unsigned long)"two");
}

static void spliced(void)
{
	static char data[1000];
	int pipes[2], fd = made("spliced");

	memset(data, 's', sizeof data);
	check(!pipe(pipes) && write(pipes[1], data, sizeof data) == sizeof data, "pipe");
	IS(1000, SPLICE, fd, .off = -1, .splice_off_in = -1, .splice_fd_in = pipes[0], .len = 1000);
	IS(0, CLOSE, fd);
}

/* An operation that came with Linux 6.9 (io_uring/truncate.c); before, a call. */
static void shortened(int fd, unsigned bytes)
{
	long result = done(SQE(FTRUNCATE, fd, .off = bytes));

	check(result == 0 || (result == -EINVAL && !ftruncate(fd, bytes)), "ftruncate");
}

static void resized(void)
{
	int fd = made("space");

	IS(3, WRITE, fd, AT("abc"), .len = 3, .off = -1);
	shortened(fd, 2);
	IS(0, FALLOCATE, fd, .off = 2, .addr = 8190, .len = 0);
	IS(0, CLOSE, fd);
}

static void failed(void)
{
	long result;

	IS(-ENOENT, RENAMEAT, HERE, AT("none"), .len = HERE, AND("other"));
	IS(-ENOENT, UNLINKAT, HERE, AT("none"));
	IS(-EEXIST, MKDIRAT, HERE, AT("deeper"), .len = 0700);
	IS(-EEXIST, SYMLINKAT, HERE, AT("nowhere"), AND("symbolic"));
	IS(-EEXIST, LINKAT, HERE, AT("one"), .len = HERE, AND("two"));
	IS(-ENOENT, OPENAT, HERE, AT("none"), .open_flags = O_RDONLY);
	result = done(SQE(FTRUNCATE, 999, .off = 1));
	check(result == -EBADF || result == -EINVAL, "ftruncate of nothing");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (!strcmp(argv[2], "async"))
		flags = IOSQE_ASYNC;
	else if (!strcmp(argv[2], "sqpoll"))
		setup = IORING_SETUP_SQPOLL;
	else if (!strcmp(argv[2], "defer"))
		setup = SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN;
	check(!chdir(argv[1]), argv[1]);
	make_ring();
	if (!strcmp(argv[2], "splice")) {
		spliced();
		return 0;
	}
	replaced();
	directories();
	exchanged();
	resized();
	failed();
	return 0;
}
