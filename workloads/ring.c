/* ring DIR: io_uring operations that change files, one after the other, in DIR with the file
 * "old" of 8,192 bytes.
 *
 * "made" is opened (created), written to at 4,096 (1,000 bytes), at its position (8 bytes) and
 * durably (512 bytes at 8,192), synced as by fdatasync and as by fsync, cut to 6,000 and given
 * space from there to 10,000, and closed. "old" is opened and emptied by openat2, closed by
 * close. Names: "made" becomes "renamed", which gets the name "linked"; "dir" and "symbolic" are
 * made; "linked" is removed. A descriptor that is none is synced. A write of 1 byte to "renamed"
 * asks for no completion; the last operation, which does nothing, waits for it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of Linux 6.9; headers may be older. */
#define IORING_OP_FTRUNCATE 55

static struct io_uring_sqe *entries;
static struct io_uring_cqe *results;
static unsigned *tail, *mask, *slots, *head, *done_mask;
static int ring;

static void check(long right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

static void make_ring(void)
{
	struct io_uring_params p = {};
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
	head = (unsigned *)(queues + p.cq_off.head);
	done_mask = (unsigned *)(queues + p.cq_off.ring_mask);
	results = (struct io_uring_cqe *)(queues + p.cq_off.cqes);
}

/* Hands one operation over, waits for it and returns its result. */
static long done(struct io_uring_sqe one)
{
	unsigned slot = *tail & *mask;
	long result;

	entries[slot] = one;
	slots[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	check(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) == 1,
	      "io_uring_enter");
	result = results[*head & *done_mask].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

#define DO(code, descriptor, ...) \
	done((struct io_uring_sqe){.opcode = IORING_OP_##code, .fd = descriptor, __VA_ARGS__})
#define AT(pointer) .addr = (unsigned long)(pointer)

static int contents(void)
{
	static char data[1000];
	int fd = DO(OPENAT, AT_FDCWD, AT("made"), .len = 0644, .open_flags = O_RDWR | O_CREAT);

	check(fd >= 0, "openat");
	check(DO(WRITE, fd, AT(data), .len = 1000, .off = 4096) == 1000, "write");
	check(DO(WRITE, fd, AT(data), .len = 8, .off = -1) == 8, "write");
	check(DO(WRITE, fd, AT(data), .len = 512, .off = 8192, .rw_flags = 2) == 512, "write");
	check(DO(FSYNC, fd, .fsync_flags = IORING_FSYNC_DATASYNC) == 0, "fsync");
	check(DO(FSYNC, fd) == 0, "fsync");
	check(DO(FSYNC, 999) == -9, "fsync");
	check(DO(FTRUNCATE, fd, .off = 6000) == 0, "ftruncate");
	check(DO(FALLOCATE, fd, .off = 6000, .addr = 4000, .len = 0) == 0, "fallocate");
	return fd;
}

static void emptied(void)
{
	struct open_how how = {.flags = O_WRONLY | O_TRUNC};
	int fd = DO(OPENAT2, AT_FDCWD, AT("old"), .len = sizeof how, .off = (unsigned long)&how);

	check(fd >= 0 && !close(fd), "openat2");
}

static void names(void)
{
	check(DO(RENAMEAT, AT_FDCWD, AT("made"), .len = AT_FDCWD, .off = (unsigned long)"renamed") == 0,
	      "renameat");
	check(DO(LINKAT, AT_FDCWD, AT("renamed"), .len = AT_FDCWD, .off = (unsigned long)"linked") == 0,
	      "linkat");
	check(DO(MKDIRAT, AT_FDCWD, AT("dir"), .len = 0755) == 0, "mkdirat");
	check(DO(SYMLINKAT, AT_FDCWD, AT("old"), .off = (unsigned long)"symbolic") == 0, "symlinkat");
	check(DO(UNLINKAT, AT_FDCWD, AT("linked")) == 0, "unlinkat");
	check(DO(UNLINKAT, AT_FDCWD, AT("linked")) == -2, "unlinkat");
}

/* The next operation begins when this one has ended, which would be cancelled if the program ended before. */
static void untold(void)
{
	int fd = open("renamed", O_WRONLY);
	unsigned slot = *tail & *mask;

	check(fd >= 0, "open");
	entries[slot] = (struct io_uring_sqe){
		.opcode = IORING_OP_WRITE, .fd = fd, AT("x"), .len = 1,
		.flags = IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_LINK};
	slots[slot] = slot;
	slot = (*tail + 1) & *mask;
	entries[slot] = (struct io_uring_sqe){.opcode = IORING_OP_NOP};
	slots[slot] = slot;
	__atomic_store_n(tail, *tail + 2, __ATOMIC_RELEASE);
	check(syscall(SYS_io_uring_enter, ring, 2, 1, IORING_ENTER_GETEVENTS, 0, 0) == 2,
	      "io_uring_enter");
	check(results[*head & *done_mask].res == 0, "nop");
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 2)
		return 2;
	check(!chdir(argv[1]), argv[1]);
	make_ring();
	fd = contents();
	emptied();
	names();
	check(DO(CLOSE, fd) == 0, "close");
	untold();
	return 0;
}
