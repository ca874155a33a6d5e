/* libaio: one operation for each control block of io_submit. The block contains file, offset and
 * length; io_getevents returns the result. A program may also fetch results from memory that it
 * shares with the kernel: then only the requested values are known.
 *
 * Results are found by the block's address, which the program may reuse only after it has the
 * result. */
#pragma once
#include "operations.h"
#include "user.h"

struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct submission_key);
	__type(value, struct submission);
} submissions SEC(".maps");

APART int name_file(__u64 open_file, struct file_key *key);

/* `result` is the number of bytes moved, or a negative errno. */
APART int end_submission(struct submission *of, __s64 result, __u64 now)
{
	struct ended ended = {};

	if (!of)
		return 0;
	ended.entered_ns = of->entered_ns;
	ended.now = now;
	ended.process = of->process;
	ended.thread = of->thread;
	ended.nr = TOLD_BASE + (of->opcode & (AIO_OPERATIONS - 1));
	ended.mode = of->mode;
	ended.flags = of->flags;
	ended.file = of->file;
	ended.offset = of->offset;
	ended.result = result;
	count_operation(&ended);
	operation_at(purpose_of(ended.nr, of->mode), result, now - of->entered_ns, now);
	if (READS && (of->opcode == AIO_PREAD || of->opcode == AIO_PREADV))
		record_operation(&ended);
	if (of->opcode == AIO_FSYNC || of->opcode == AIO_FDSYNC ||
	    ((of->opcode == AIO_PWRITE || of->opcode == AIO_PWRITEV) && result != 0 &&
	     (of->mode & S_IFMT) == S_IFREG))
		send_operation(&ended);
	return 0;
}

struct lengths {
	__u64 vector;
	__u64 count;
	__u64 bytes;
};

static long add_length(__u32 index, struct lengths *lengths)
{
	__u64 vector[2] = {};

	if (index >= lengths->count)
		return 1;
	if (bpf_probe_read_user(vector, sizeof vector, (void *)(lengths->vector + 16ULL * index))) {
		lose(LOSS_ARGUMENTS);
		return 1;
	}
	lengths->bytes += vector[1];
	return 0;
}

#define UNREADABLE (~0ULL)

/* Returns the struct file of a block, or UNREADABLE; after submission its descriptor may be
 * closed. */
static __noinline __u64 begin_submission(struct submission *of, __u64 address)
{
	struct lengths lengths = {};
	struct aio_block own, *block = &own;
	struct file *file;

	if (!of)
		return 0;
	if (bpf_probe_read_user(block, sizeof *block, (void *)address)) {
		lose(LOSS_ARGUMENTS);
		return UNREADABLE;
	}
	of->opcode = block->opcode;
	of->bytes = block->bytes;
	of->offset = block->offset;
	if (block->opcode == AIO_PREADV || block->opcode == AIO_PWRITEV) {
		lengths.vector = block->buffer;
		lengths.count = block->bytes;
		bpf_loop(1024, add_length, &lengths, 0); /* UIO_MAXIOV */
		of->bytes = lengths.bytes;
	} else if (block->opcode != AIO_PREAD && block->opcode != AIO_PWRITE) {
		of->bytes = 0;
	}
	if (block->opcode == AIO_FDSYNC)
		of->flags = RUN_DATA_ONLY;
	file = number_of_file(block->descriptor);
	if (!file)
		return 0;
	of->flags |= manner(READ(file, f_flags), block->rw_flags);
	of->mode = identify_file(file, &of->file);
	/* Others submitted with it may precede it. */
	if (of->flags & RUN_APPENDS)
		of->offset = READ(file, f_inode, i_size);
	return (__u64)file;
}

/* One control block being submitted. */
static long submit_one(__u32 index, void *unused)
{
	struct task_state *state = current_state();
	__u64 id = current_numbers();
	struct submission submission = {}, *before;
	struct submission_key key = {};
	__u64 file;

	if (!state || index >= state->argument[1])
		return 1;
	if (bpf_probe_read_user(&key.block, sizeof key.block,
				(void *)(state->argument[2] + 8ULL * index))) {
		lose(LOSS_ARGUMENTS);
		return 0;
	}
	key.process = id >> 32;
	submission.entered_ns = bpf_ktime_get_ns();
	submission.process = id >> 32;
	submission.thread = id;
	file = begin_submission(&submission, key.block);
	if (file == UNREADABLE)
		return 0;
	name_file(file, &submission.file);
	before = bpf_map_lookup_elem(&submissions, &key);
	if (before) {
		lose(LOSS_RESULTS);
		end_submission(before, before->bytes, submission.entered_ns);
	}
	if (bpf_map_update_elem(&submissions, &key, &submission, BPF_ANY))
		lose(LOSS_CALLS);
	return 0;
}

/* Blocks after the accepted ones were not submitted. */
static long take_back_one(__u32 index, __u64 *accepted)
{
	struct task_state *state = current_state();
	struct submission_key key = {};

	if (!state || *accepted + index >= state->argument[1])
		return 1;
	key.process = current_numbers() >> 32;
	if (!bpf_probe_read_user(&key.block, sizeof key.block,
				 (void *)(state->argument[2] + 8ULL * (*accepted + index))))
		bpf_map_delete_elem(&submissions, &key);
	return 0;
}

static long reap_one(__u32 index, __u64 *fetched)
{
	struct task_state *state = current_state();
	struct aio_result result = {};
	struct submission_key key = {};
	struct submission *of;

	if (!state || index >= *fetched)
		return 1;
	if (bpf_probe_read_user(&result, sizeof result,
				(void *)(state->argument[3] + sizeof result * index))) {
		lose(LOSS_ARGUMENTS);
		return 0;
	}
	key.process = current_numbers() >> 32;
	key.block = result.block;
	of = bpf_map_lookup_elem(&submissions, &key);
	if (!of)
		return 0;
	end_submission(of, result.result, bpf_ktime_get_ns());
	bpf_map_delete_elem(&submissions, &key);
	return 0;
}

/* The most results of one call: aio-max-nr is 65,536 by default. */
#define AIO_AT_ONCE 65536

APART int aio_submitted(struct task_state *state)
{
	__u64 accepted;

	if (!state)
		return 0;
	accepted = state->result > 0 ? state->result : 0;
	if (accepted < state->argument[1])
		bpf_loop(AIO_AT_ONCE, take_back_one, &accepted, 0);
	return 0;
}

APART int aio_fetched(struct task_state *state)
{
	__u64 fetched;

	if (!state || state->result <= 0)
		return 0;
	fetched = state->result;
	bpf_loop(AIO_AT_ONCE, reap_one, &fetched, 0);
	return 0;
}
