/* The bytes that io_uring operations wrote, for the operation log. The program may reuse its
 * buffer when it sees the completion, and the event precedes the completion (io_fill_cqe_req,
 * io_uring/io_uring.h). */
#pragma once
#include "operations.h"
#include "payload.h"
#include "ring_types.h"

/* include/linux/io_uring_types.h: REQ_F_FIXED_FILE is IOSQE_FIXED_FILE */
#define REQ_F_FIXED_FILE 1

#define NO_DESCRIPTOR (~0U)

/* An operation in the form of a writing call: one per CPU. */
struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct task_state);
} ring_writers SEC(".maps");

/* The descriptor of a request, before it has ended. */
static __always_inline __u32 descriptor_of(struct io_kiocb *request)
{
	if (!bpf_core_field_exists(request->cqe.fd) ||
	    (BPF_CORE_READ(request, flags) & REQ_F_FIXED_FILE))
		return NO_DESCRIPTOR;
	return BPF_CORE_READ(request, cqe.fd);
}

APART int record_ring_write(struct ended *ended, __u64 request, __u64 open_file, __u32 descriptor)
{
	struct io_rw *transfer = (struct io_rw *)request;
	struct file *file = (struct file *)open_file;
	struct task_state *writer;
	__u32 zero = 0;
	__u64 used;

	/* Operations with several buffers are left out: their array may be gone. Bytes moved by
	 * splice are in no buffer, and a worker cannot stop the program before it continues. */
	if (!ended || (ended->nr != RING_BASE + IORING_OP_WRITE &&
		       ended->nr != RING_BASE + IORING_OP_WRITE_FIXED))
		return 0;
	writer = bpf_map_lookup_elem(&ring_writers, &zero);
	if (!writer || ended->result <= 0)
		return 0;
	/* The kernel ends the rest of a ring, without access to the program's memory. */
	if (current_numbers() >> 32 != ended->process) {
		lose(LOSS_PAYLOAD);
		return 0;
	}
	writer->nr = ended->nr;
	writer->call = CALL_WRITES | CALL_OFFSET;
	writer->entered_ns = ended->entered_ns;
	writer->file = ended->file;
	writer->mode = ended->mode;
	writer->open_file = open_file;
	writer->file_flags = READ(file, f_flags);
	writer->appends = 0; /* its start is known, since the position belongs to the request */
	writer->lowest = 0;
	writer->looked_ns = 0;
	writer->argument[0] = descriptor;
	writer->argument[3] = ended->offset;
	writer->call_flags = READ(transfer, flags);
	writer->argument[1] = READ(transfer, addr);
	writer->argument[2] = READ(transfer, len);
	used = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	if (((ended->mode & S_IFMT) == S_IFREG || is_output(writer)) &&
	    (send_payload(writer, ended->result, ended->now, used) || used > HIGH_WATER))
		stop_process();
	return 0;
}
