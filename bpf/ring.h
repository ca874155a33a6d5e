/* io_uring: operations counted like system calls, with their file and time. The submitting call
 * says nothing about them. */
#pragma once
#include "calls.h"
#include "ring_names.h"
#include "ring_order.h"
#include "ring_payload.h"
#include "ring_types.h"

/* Changes the number if the arguments identify another operation. */
#define OPCODE_REMOVE RING_OPERATIONS

static __always_inline void look_at_transfer(struct operation *operation, struct io_kiocb *request)
{
	struct io_rw *transfer = (struct io_rw *)request;

	operation->at = READ(transfer, kiocb.ki_pos);
	/* Then the position is the end of the file, and known when the operation has ended. */
	if (READ(transfer, flags) & RWF_APPEND)
		operation->at = -1;
}

/* Named before the operation may change its length. */
static __always_inline void name_written(struct io_kiocb *request)
{
	struct file_key key = {};
	struct file *file;
	__u32 number;

	if (!HISTORY || !bpf_core_field_exists(request->cqe.fd))
		return;
	number = BPF_CORE_READ(request, cqe.fd);
	if (BPF_CORE_READ(request, flags) & REQ_F_FIXED_FILE)
		file = (struct file *)slot_file(request, number);
	else
		file = number_of_file(number);
	if (!file)
		return;
	identify_file(file, &key);
	name_file((__u64)file, &key);
}

static __always_inline void look_at_closed(struct operation *operation, struct file *file)
{
	identify(READ(file, f_inode), &operation->closes);
	operation->closes_mode = READ(file, f_mode);
	if ((mode_of(READ(file, f_inode)) & S_IFMT) != S_IFREG)
		operation->closes_mode = 0;
	name_file((__u64)file, &operation->closes);
}

/* The operation's own field of the request, which is lost when the request has ended. */
static __noinline int look_at_request(struct operation *operation, struct io_kiocb *request)
{
	struct io_sync *sync = (struct io_sync *)request;
	struct io_open *open = (struct io_open *)request;
	struct file *file;

	if (!operation || !request)
		return 0;
	switch (operation->opcode) {
	case IORING_OP_READV:
	case IORING_OP_READ_FIXED:
	case IORING_OP_READ:
	case IORING_OP_READV_FIXED:
		look_at_transfer(operation, request);
		break;
	case IORING_OP_WRITEV:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_WRITE:
	case IORING_OP_WRITEV_FIXED:
		name_written(request);
		look_at_transfer(operation, request);
		break;
	case IORING_OP_FSYNC:
		if (bpf_core_field_exists(sync->flags) &&
		    (BPF_CORE_READ(sync, flags) & IORING_FSYNC_DATASYNC))
			operation->flags = RUN_DATA_ONLY;
		break;
	case IORING_OP_FALLOCATE:
		if (bpf_core_field_exists(sync->off)) {
			operation->at = BPF_CORE_READ(sync, off);
			operation->bytes = BPF_CORE_READ(sync, len);
			operation->flags = BPF_CORE_READ(sync, mode);
		}
		break;
	case IORING_OP_FTRUNCATE:
		if (bpf_core_type_exists(struct io_ftrunc))
			operation->at = BPF_CORE_READ((struct io_ftrunc *)request, len);
		break;
	case IORING_OP_SPLICE:
		if (bpf_core_type_exists(struct io_splice))
			operation->at = BPF_CORE_READ((struct io_splice *)request, off_out);
		break;
	case IORING_OP_OPENAT:
	case IORING_OP_OPENAT2:
		if (bpf_core_type_exists(struct io_open)) {
			operation->at = BPF_CORE_READ(open, how.flags);
			operation->bytes = BPF_CORE_READ(open, file_slot);
		}
		break;
	case IORING_OP_MADVISE:
		if (bpf_core_type_exists(struct io_madvise) &&
		    BPF_CORE_READ((struct io_madvise *)request, advice) == MADV_REMOVE)
			operation->opcode = OPCODE_REMOVE;
		break;
	case IORING_OP_CLOSE:
		if (!bpf_core_type_exists(struct io_close))
			break;
		operation->bytes = BPF_CORE_READ((struct io_close *)request, file_slot);
		file = number_of_file(BPF_CORE_READ((struct io_close *)request, fd));
		if (operation->bytes)
			file = (struct file *)slot_file(request, operation->bytes - 1);
		if (file)
			look_at_closed(operation, file);
	}
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(ring_submitted, struct io_kiocb *request)
{
	struct task_struct *task = bpf_get_current_task_btf(), *first = task->group_leader;
	struct operation operation = {};
	__u64 key = (__u64)request, id = current_numbers();
	struct task_state *state;
	__u64 number = 0; /* the same as a number, for global functions */

	/* Read here, before paths part: see WALK. */
	asm volatile("" : "+r"(first));
	state = state_of(task);
	/* Writes of the thread precede its submissions. */
	if (HISTORY && state && !(task->flags & (PF_IO_WORKER | PF_KTHREAD)))
		end_run(&state->run, id);
	/* A kernel submission thread belongs to the process whose ring it serves. */
	if (!state)
		state = state_of(first);
	if (!state || !request)
		return 0;
	state->reports.news = 1;
	operation.entered_ns = bpf_ktime_get_ns();
	operation.process = id >> 32;
	operation.thread = id;
	operation.opcode = READ(request, opcode);
	if (HISTORY) {
		operation.descriptor = descriptor_of(request);
		expect_drain(request);
		look_at_request(&operation, request);
		bpf_probe_read_kernel(&number, sizeof number, &key);
		send_asked(number, operation.opcode);
	}
	switch (bpf_map_update_elem(&operations, &key, &operation, BPF_NOEXIST)) {
	case 0:
		break;
	case -17: /* EEXIST: the end of the previous operation in this memory was not seen */
		lose(LOSS_COMPLETIONS);
		bpf_map_update_elem(&operations, &key, &operation, BPF_ANY);
		break;
	default:
		lose(LOSS_CALLS);
	}
	return 0;
}

/* A step described by the arguments of the system call with that name. */
APART int ring_step(struct operation *operation, struct ended *ended, __u64 open_file,
		    __u64 request)
{
	struct file *file = (struct file *)open_file;
	struct step_event *event;

	if (!operation || !ended)
		return 0;
	event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	if (!event) {
		lose(LOSS_HISTORY);
		return 0;
	}
	__builtin_memset(event, 0, sizeof *event);
	event->kind = EVENT_STEP;
	event->nr = ended->nr;
	event->process = operation->process;
	event->thread = operation->thread;
	event->entered_ns = operation->entered_ns;
	event->left_ns = ended->now;
	event->result = ended->result;
	event->file = ended->file;
	event->request = request;
	event->open_file = open_file;
	event->inode_mode = ended->mode;
	event->mode = file ? READ(file, f_mode) : operation->closes_mode;
	event->flags = file ? READ(file, f_flags) : 0;
	switch (operation->opcode) {
	case IORING_OP_FTRUNCATE:
		event->argument[1] = operation->at;
		break;
	case IORING_OP_FALLOCATE:
		event->argument[1] = operation->flags;
		event->argument[2] = operation->at;
		event->argument[3] = operation->bytes;
		break;
	case IORING_OP_OPENAT:
	case IORING_OP_OPENAT2:
		event->argument[2] = operation->at;
	}
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The start of a write. The position in the request is -1 for that of the open file, and is
 * meaningless for appends; after the end it is the end of the write. */
static __always_inline __s64 ring_offset(struct operation *operation, struct file *file,
					 struct io_kiocb *request, __s64 result)
{
	struct io_rw *transfer = (struct io_rw *)request;

	if (operation->opcode == IORING_OP_SPLICE)
		return operation->at != ~0ULL ? operation->at : READ(file, f_pos) - result;
	if (operation->at != ~0ULL && !(READ(file, f_flags) & O_APPEND))
		return operation->at;
	return READ(transfer, kiocb.ki_pos) - result;
}

static __always_inline void ring_history(struct operation *operation, struct ended *ended,
					 struct io_kiocb *request, struct file *file)
{
	bool regular = (ended->mode & S_IFMT) == S_IFREG;

	switch (operation->opcode) {
	case IORING_OP_READV:
	case IORING_OP_READ_FIXED:
	case IORING_OP_READ:
	case IORING_OP_READV_FIXED:
		if (READS && file) {
			ended->offset = ring_offset(operation, file, request,
						    ended->result > 0 ? ended->result : 0);
			record_operation(ended);
		}
		return;
	case IORING_OP_WRITEV:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_WRITE:
	case IORING_OP_WRITEV_FIXED:
	case IORING_OP_SPLICE:
		if (!file || !ended->result)
			return;
		ended->offset = ring_offset(operation, file, request,
					    ended->result > 0 ? ended->result : 0);
		if (RECORD)
			record_ring_write(ended, (__u64)request, (__u64)file,
					  operation->descriptor);
		if (!regular)
			return;
		if (operation->opcode != IORING_OP_SPLICE)
			ended->flags = manner_of_request(request);
		send_operation(ended);
		return;
	case IORING_OP_FSYNC:
		ended->flags = operation->flags;
		send_operation(ended);
		return;
	case IORING_OP_SYNC_FILE_RANGE:
	case IORING_OP_FTRUNCATE:
	case IORING_OP_FALLOCATE:
		if (file)
			ring_step(operation, ended, (__u64)file, 0);
		return;
	case IORING_OP_CLOSE:
		if (operation->closes_mode & (FMODE_WRITE | FMODE_CREATED))
			ring_step(operation, ended, 0, 0);
		return;
	case IORING_OP_RENAMEAT:
	case IORING_OP_UNLINKAT:
	case IORING_OP_MKDIRAT:
	case IORING_OP_SYMLINKAT:
	case IORING_OP_LINKAT:
		send_ring_places((__u64)request);
		ring_step(operation, ended, 0, (__u64)request);
		return;
	case IORING_OP_SETXATTR:
	case IORING_OP_FSETXATTR:
		if (!RECORD)
			return;
		send_ring_places((__u64)request);
		ring_step(operation, ended, (__u64)file, (__u64)request);
	}
}

/* The slot of the ring's own table for an opened file (io_fixed_fd_install, io_uring/filetable.c):
 * the requested one, or the one in the result. */
static __always_inline __u32 slot_of_opened(struct operation *operation, __s64 result)
{
	return (__u32)operation->bytes == IORING_FILE_INDEX_ALLOC ? result : operation->bytes - 1;
}

/* The opened file: the result is its descriptor, or the file is in the ring's own table. */
APART int ring_opened(struct operation *operation, struct ended *ended, __u64 of_request)
{
	struct io_kiocb *request = (struct io_kiocb *)of_request;
	struct file *file;
	__u32 mode;

	if (!operation || !ended)
		return 0;
	bpf_map_delete_elem(&ring_touched, &of_request);
	if (ended->result < 0) {
		ring_step(operation, ended, 0, (__u64)request);
		return 0;
	}
	if (operation->bytes)
		file = (struct file *)slot_file(request, slot_of_opened(operation, ended->result));
	else
		file = number_of_file(ended->result);
	if (!file) {
		lose(LOSS_ARGUMENTS);
		return 0;
	}
	ended->mode = identify_file(file, &ended->file);
	name_file((__u64)file, &ended->file);
	mode = READ(file, f_mode);
	if ((ended->mode & S_IFMT) == S_IFREG)
		begin_written_life(&ended->file, (__u64)file);
	if ((ended->mode & S_IFMT) == S_IFREG && (mode & (FMODE_WRITE | FMODE_CREATED)))
		ring_step(operation, ended, (__u64)file, (__u64)request);
	return 0;
}

APART int finish(__u64 request, __s64 result)
{
	struct operation *operation = bpf_map_lookup_elem(&operations, &request);
	struct io_kiocb *kiocb = (struct io_kiocb *)request;
	struct ended ended = {};
	struct file *file;

	if (!operation)
		return 0;
	ended.now = bpf_ktime_get_ns();
	if (HISTORY)
		take_order(kiocb, operation, ended.now);
	ended.entered_ns = operation->entered_ns;
	ended.process = operation->process;
	ended.thread = operation->thread;
	ended.result = result;
	ended.nr = operation->opcode == OPCODE_REMOVE ?
			   TOLD_BASE + TOLD_REMOVE :
			   RING_BASE + (operation->opcode & (RING_OPERATIONS - 1));
	file = BPF_CORE_READ(kiocb, file); /* a number for the verifier */
	if (file) {
		ended.mode = identify_file(file, &ended.file);
		if (HISTORY) {
			name_file((__u64)file, &ended.file);
			if ((ended.mode & S_IFMT) == S_IFREG)
				begin_written_life(&ended.file, (__u64)file);
		}
	}
	if (HISTORY) {
		if (operation->opcode == IORING_OP_CLOSE)
			ended.file = operation->closes;
		if (operation->opcode == IORING_OP_OPENAT ||
		    operation->opcode == IORING_OP_OPENAT2)
			ring_opened(operation, &ended, request);
		ring_history(operation, &ended, kiocb, file);
		operation_at(purpose_of(ended.nr, ended.mode), result,
			     ended.now - ended.entered_ns, ended.now);
	}
	count_operation(&ended);
	bpf_map_delete_elem(&operations, &request);
	return 0;
}

/* Up to Linux 6.12 the result is the fourth argument of the event; the kernel refuses this program
 * where there are only three. */
SEC("tp_btf/io_uring_complete")
int ring_completed_old(__u64 *context)
{
	return finish(context[1], (__s32)context[3]);
}

SEC("tp_btf/io_uring_complete")
int ring_completed(__u64 *context)
{
	struct io_uring_cqe *entry = (struct io_uring_cqe *)context[2];

	return finish(context[1], READ(entry, res));
}
