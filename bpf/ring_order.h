/* The start of an io_uring operation: a linked one starts when its predecessor has ended, a
 * draining one when all before it have (io_uring_enter(2), IOSQE_IO_LINK and IOSQE_IO_DRAIN). The
 * writes that a sync covers depend on it. */
#pragma once
#include "operations.h"
#include "ring_types.h"

/* include/linux/io_uring_types.h: REQ_F_IO_DRAIN is IOSQE_IO_DRAIN */
#define REQ_F_IO_DRAIN 2

/* Operations that have not ended, by request. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct operation);
} operations SEC(".maps");

/* The end of the last operation, by ring: for rings in which one has drained. */
struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u64);
} draining SEC(".maps");

static __always_inline void expect_drain(struct io_kiocb *request)
{
	__u64 ring, never = 0;

	if (!(BPF_CORE_READ(request, flags) & REQ_F_IO_DRAIN))
		return;
	ring = (__u64)BPF_CORE_READ(request, ctx);
	bpf_map_update_elem(&draining, &ring, &never, BPF_NOEXIST);
}

/* An operation has ended: corrects its start, and that of the operation that waits for it. The
 * chain is taken apart after the event (io_queue_next, io_uring/io_uring.c). */
static __always_inline void take_order(struct io_kiocb *request, struct operation *operation,
				       __u64 now)
{
	__u64 next = (__u64)BPF_CORE_READ(request, link);
	__u64 ring = (__u64)BPF_CORE_READ(request, ctx);
	struct operation *waiting;
	__u64 *last = bpf_map_lookup_elem(&draining, &ring);

	if (last) {
		if ((BPF_CORE_READ(request, flags) & REQ_F_IO_DRAIN) &&
		    operation->entered_ns < *last)
			operation->entered_ns = *last;
		*last = now;
	}
	waiting = next ? bpf_map_lookup_elem(&operations, &next) : 0;
	if (waiting)
		waiting->entered_ns = now;
}
