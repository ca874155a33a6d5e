/* aio DIR: operations of libaio, by system calls, in the empty DIR.
 *
 * "a": 8 writes of 4,096 bytes submitted at once, of which one is refused; one of 1,024 bytes
 *      from two buffers, one of 512 that is durable by itself; an fdatasync and an fsync; 4 reads
 *      of 4,096 bytes, of which the last finds 1,536; one read of 1,024 into two buffers.
 * "b": 3 writes of 512 bytes, whose results are read in shared memory; the first control block is
 *      used again for the third.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define RWF_DSYNC_ 2

static aio_context_t context;
static char data[8 * 4096], into[4 * 4096];

static void check(long right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

static struct iocb block(int fd, int opcode, void *buffer, long bytes, long offset)
{
	struct iocb made = {};

	made.aio_fildes = fd;
	made.aio_lio_opcode = opcode;
	made.aio_buf = (unsigned long)buffer;
	made.aio_nbytes = bytes;
	made.aio_offset = offset;
	return made;
}

static long submit(long count, struct iocb **blocks)
{
	return syscall(SYS_io_submit, context, count, blocks);
}

/* Hands one over and fetches its result. */
static long done(struct iocb one)
{
	struct iocb *blocks[] = {&one};
	struct io_event event;

	check(submit(1, blocks) == 1, "io_submit");
	check(syscall(SYS_io_getevents, context, 1, 1, &event, 0) == 1, "io_getevents");
	return event.res;
}

static void fetched(void)
{
	struct iocb blocks[9], *all[9];
	struct io_event events[8];
	struct iovec out[] = {{data, 1000}, {data, 24}}, in[] = {{into, 24}, {into + 24, 1000}};
	struct iocb durable;
	int fd = open("a", O_RDWR | O_CREAT, 0644);

	check(fd >= 0, "a");
	for (int i = 0; i < 9; i++) {
		blocks[i] = block(i < 8 ? fd : 999, IOCB_CMD_PWRITE, data, 4096, 4096 * (i % 8));
		all[i] = &blocks[i];
	}
	check(submit(9, all) == 8, "io_submit");
	check(syscall(SYS_io_getevents, context, 8, 8, events, 0) == 8, "io_getevents");
	check(done(block(fd, IOCB_CMD_PWRITEV, out, 2, 8 * 4096)) == 1024, "pwritev");
	durable = block(fd, IOCB_CMD_PWRITE, data, 512, 8 * 4096 + 1024);
	durable.aio_rw_flags = RWF_DSYNC_;
	check(done(durable) == 512, "pwrite");
	check(done(block(fd, IOCB_CMD_FDSYNC, 0, 0, 0)) == 0, "fdsync");
	check(done(block(fd, IOCB_CMD_FSYNC, 0, 0, 0)) == 0, "fsync");
	for (int i = 0; i < 4; i++) {
		long offset = 4096 * (i < 3 ? i : 8), right = i < 3 ? 4096 : 1536;

		check(done(block(fd, IOCB_CMD_PREAD, into, 4096, offset)) == right, "pread");
	}
	check(done(block(fd, IOCB_CMD_PREADV, in, 2, 0)) == 1024, "preadv");
	close(fd);
}

/* include/linux/aio.h: what a context's number points to. */
struct ring {
	unsigned id, entries, head, tail, magic, compatible, incompatible, header;
	struct io_event events[];
};

static void in_shared_memory(void)
{
	volatile struct ring *ring = (struct ring *)context;
	struct iocb blocks[2], *first[] = {&blocks[0]}, *second[] = {&blocks[1]};
	int fd = open("b", O_WRONLY | O_CREAT, 0644);

	check(fd >= 0 && ring->magic == 0xa10a10a1, "b");
	blocks[0] = block(fd, IOCB_CMD_PWRITE, data, 512, 0);
	blocks[1] = block(fd, IOCB_CMD_PWRITE, data, 512, 512);
	check(submit(1, first) == 1 && submit(1, second) == 1, "io_submit");
	while (ring->head != ring->tail)
		ring->head = (ring->head + 1) % ring->entries;
	blocks[0].aio_offset = 1024;
	check(submit(1, first) == 1, "io_submit");
	while (ring->head != ring->tail)
		ring->head = (ring->head + 1) % ring->entries;
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	check(!chdir(argv[1]), argv[1]);
	memset(data, 'x', sizeof data);
	check(!syscall(SYS_io_setup, 64, &context), "io_setup");
	fetched();
	in_shared_memory();
	return 0;
}
