/* Operations submitted in memory: io_uring and libaio, both by their system calls. */
#include <linux/aio_abi.h>
#include <linux/io_uring.h>

struct ring {
	int fd;
	struct io_uring_params params;
	char *queue;
	struct io_uring_sqe *entries;
};

static int make_ring(struct ring *ring)
{
	size_t bytes = 4096;

	memset(ring, 0, sizeof *ring);
	ring->fd = syscall(SYS_io_uring_setup, 4, &ring->params);
	if (ring->fd < 0)
		return 0;
	/* Both queues lie in one mapping since Linux 5.4 (io_uring_setup(2)). */
	ring->queue = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			   IORING_OFF_SQ_RING);
	ring->entries = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			     IORING_OFF_SQES);
	return ring->queue != MAP_FAILED && ring->entries != MAP_FAILED;
}

static void end_ring(struct ring *ring)
{
	munmap(ring->queue, 4096);
	munmap(ring->entries, 4096);
	close(ring->fd);
}

/* Submits one operation and waits for its result. */
static int submit(struct ring *ring, const struct io_uring_sqe *entry)
{
	uint32_t *tail = (uint32_t *)(ring->queue + ring->params.sq_off.tail);
	uint32_t *array = (uint32_t *)(ring->queue + ring->params.sq_off.array);
	uint32_t *head = (uint32_t *)(ring->queue + ring->params.cq_off.head);
	uint32_t *ended = (uint32_t *)(ring->queue + ring->params.cq_off.tail);
	struct io_uring_cqe *done = (struct io_uring_cqe *)(ring->queue + ring->params.cq_off.cqes);
	uint32_t at = *tail & (ring->params.sq_entries - 1);
	int result;

	ring->entries[at] = *entry;
	array[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) != 1)
		return -EIO;
	/* A signal, or a tracer, ends the wait; then the call has still submitted one. */
	while (__atomic_load_n(ended, __ATOMIC_ACQUIRE) == *head)
		syscall(SYS_io_uring_enter, ring->fd, 0, 1, IORING_ENTER_GETEVENTS, 0, 0);
	result = done[*head & (ring->params.cq_entries - 1)].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

static void transfer(struct ring *ring)
{
	/* Of a file only: a full socket would be waited for, whatever its flags. */
	int writes = one_in(2), fd = some(STORED);
	struct io_uring_sqe entry = { .opcode = writes ? IORING_OP_WRITE : IORING_OP_READ,
				      .fd = fd,
				      .addr = (uint64_t)buffer,
				      .len = some_size(),
				      .off = one_in(3) ? -1ULL : (uint64_t)some_offset() };

	if (fd < 0)
		return;
	note("uring %s %d %d", writes ? "write" : "read", fd, submit(ring, &entry));
}

static void change(struct ring *ring)
{
	struct io_uring_sqe entry = { .fd = some(STORED) };
	const char *name;

	if (entry.fd < 0)
		return;
	switch (below(3)) {
	case 0:
		entry.opcode = IORING_OP_FSYNC;
		entry.fsync_flags = one_in(2) ? IORING_FSYNC_DATASYNC : 0;
		name = "fsync";
		break;
	case 1:
		entry.opcode = IORING_OP_FALLOCATE;
		entry.addr = 1 + below(10000);
		entry.off = some_offset();
		name = "fallocate";
		break;
	default:
		entry.opcode = 55; /* IORING_OP_FTRUNCATE, Linux 6.9 */
		entry.off = some_offset();
		name = "ftruncate";
	}
	note("uring %s %d %d", name, entry.fd, submit(ring, &entry));
}

static void change_names(struct ring *ring)
{
	struct place from = some_place(), to = some_place();
	struct io_uring_sqe entry = { .fd = from.directory, .addr = (uint64_t)from.path };
	const char *name;
	int result;

	switch (below(5)) {
	case 0:
		entry.opcode = IORING_OP_RENAMEAT;
		entry.len = to.directory;
		entry.addr2 = (uint64_t)to.path;
		name = "renameat";
		break;
	case 1:
		entry.opcode = IORING_OP_UNLINKAT;
		name = "unlinkat";
		break;
	case 2:
		entry.opcode = IORING_OP_MKDIRAT;
		entry.len = 0755;
		name = "mkdirat";
		break;
	default:
		entry.opcode = IORING_OP_OPENAT;
		entry.len = 0644;
		entry.open_flags = some_flags();
		name = "openat";
	}
	result = submit(ring, &entry);
	note("uring %s %d %d", name, -1, result);
	if (entry.opcode == IORING_OP_OPENAT && result >= 0)
		keep(result);
}

static void by_ring(void)
{
	struct ring ring;

	if (!make_ring(&ring))
		return;
	for (int left = 1 + below(4); left > 0; left--) {
		switch (below(3)) {
		case 0:
			change(&ring);
			break;
		case 1:
			change_names(&ring);
			break;
		default:
			transfer(&ring);
		}
	}
	end_ring(&ring);
}

static void by_aio(void)
{
	static const char *const NAMES[] = { "pread", "pwrite", "fsync" };
	struct iocb blocks[3] = {}, *list[3];
	struct io_event ended[3];
	aio_context_t queue = 0;
	long taken, got = 0, more;

	if (syscall(SYS_io_setup, 4, &queue))
		return;
	for (int i = 0; i < 3; i++) {
		static const int CODES[] = { IOCB_CMD_PREAD, IOCB_CMD_PWRITE, IOCB_CMD_FSYNC };
		int which = below(5) % 3;

		blocks[i].aio_lio_opcode = CODES[which];
		blocks[i].aio_fildes = some(STORED);
		blocks[i].aio_data = which;
		if (which < 2) {
			blocks[i].aio_buf = (uint64_t)buffer;
			blocks[i].aio_nbytes = some_size();
			blocks[i].aio_offset = some_offset();
		}
		list[i] = &blocks[i];
	}
	taken = syscall(SYS_io_submit, queue, 3, list);
	/* A signal ends the wait, where a tracer shows it one that would be ignored. */
	while (got < taken) {
		more = syscall(SYS_io_getevents, queue, taken - got, 3, ended + got, 0);
		got += more > 0 ? more : 0;
	}
	for (int i = 0; i < got; i++) {
		struct iocb *block = (struct iocb *)ended[i].obj;

		note("aio %s %d %lld", NAMES[ended[i].data], block->aio_fildes, ended[i].res);
	}
	syscall(SYS_io_destroy, queue);
}
