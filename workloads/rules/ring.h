/* An io_uring of 64 entries without a library: io_uring_setup(2), io_uring_enter(2). */
#pragma once
#include "place.h"
#include <linux/io_uring.h>
#include <sys/syscall.h>

struct ring {
	int fd;
	unsigned *submit_tail, *submit_mask, *submit_slots;
	unsigned *complete_head, *complete_tail;
	struct io_uring_sqe *entries;
	unsigned flags; /* IOSQE_* */
};

/* `setup`: IORING_SETUP_*. */
static inline struct ring make_ring_with(unsigned setup)
{
	struct io_uring_params p = {.flags = setup};
	struct ring ring = {.fd = syscall(SYS_io_uring_setup, 64, &p)};

	must(ring.fd >= 0 && p.features & IORING_FEAT_SINGLE_MMAP, "io_uring_setup");
	size_t bytes = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	size_t slots = p.sq_off.array + p.sq_entries * sizeof(unsigned);
	char *queues = mmap(0, bytes > slots ? bytes : slots, PROT_READ | PROT_WRITE, MAP_SHARED,
			    ring.fd, IORING_OFF_SQ_RING);

	ring.entries = mmap(0, p.sq_entries * sizeof *ring.entries, PROT_READ | PROT_WRITE,
			    MAP_SHARED, ring.fd, IORING_OFF_SQES);
	must(queues != MAP_FAILED && (void *)ring.entries != MAP_FAILED, "io_uring");
	ring.submit_tail = (unsigned *)(queues + p.sq_off.tail);
	ring.submit_mask = (unsigned *)(queues + p.sq_off.ring_mask);
	ring.submit_slots = (unsigned *)(queues + p.sq_off.array);
	ring.complete_head = (unsigned *)(queues + p.cq_off.head);
	ring.complete_tail = (unsigned *)(queues + p.cq_off.tail);
	return ring;
}

static inline struct ring make_ring(void)
{
	return make_ring_with(0);
}

/* Writes `count` (at most 64) times `bytes` from `at` on, and waits for all with one call. */
static inline void write_batch(struct ring *ring, int fd, const char *from, unsigned bytes,
			       long at, unsigned count)
{
	unsigned tail = *ring->submit_tail;

	for (unsigned i = 0; i < count; i++) {
		unsigned slot = tail & *ring->submit_mask;

		ring->entries[slot] = (struct io_uring_sqe){
			.opcode = IORING_OP_WRITE,
			.flags = ring->flags,
			.fd = fd,
			.addr = (unsigned long)from,
			.len = bytes,
			.off = at + (long)i * bytes,
		};
		ring->submit_slots[slot] = slot;
		tail++;
	}
	__atomic_store_n(ring->submit_tail, tail, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, ring->fd, count, count,
		     IORING_ENTER_GETEVENTS | IORING_ENTER_SQ_WAKEUP, 0, 0) ==
		     count,
	     "io_uring_enter");
	__atomic_store_n(ring->complete_head,
			 __atomic_load_n(ring->complete_tail, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}
