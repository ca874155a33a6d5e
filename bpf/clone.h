/* ioctl requests that change file contents, identified by their number. */
#pragma once
#include "operations.h"
#include "user.h"

/* include/uapi/linux/fs.h */
#define FICLONE 0x40049409
#define FICLONERANGE 0x4020940d
#define FIDEDUPERANGE 0xc0189436

/* Other requests that change file contents: each with its TOLD_* in the upper half. Set by the
 * loader. */
#define REQUESTS 32
ASSERT_MASK(REQUESTS);
const volatile __u64 REQUEST[REQUESTS] = {};

#define CLONES (CALL_FD_FIRST | CALL_SOURCE_SECOND | CALL_WRITES | CALL_MOVES | CALL_OFFSET)

/* From here on the call is treated like a copy: its arguments are the file written to, the file
 * read from, the length and the offset. */
static __always_inline void is_clone(struct task_state *state, __u32 told, __u64 source,
				     __u64 source_offset, __u64 bytes, __u64 offset)
{
	struct file *file = number_of_file(source);
	__u64 size = file ? READ(file, f_inode, i_size) : 0;

	if (!bytes && size > source_offset)
		bytes = size - source_offset;
	state->nr = TOLD_BASE + told;
	state->call = CLONES | CALL_TOLD;
	state->argument[1] = source;
	state->argument[2] = bytes;
	state->argument[3] = offset;
}

/* The first destination; the others are counted when the call returns. */
static __always_inline void is_dedupe(struct task_state *state)
{
	struct dedupe_target target = {};
	__u64 at = state->argument[2] + sizeof(struct dedupe_range);

	if (bpf_probe_read_user(&target, sizeof target, (void *)at)) {
		lose(LOSS_ARGUMENTS);
		return;
	}
	state->nr = TOLD_BASE + TOLD_DEDUPE;
	state->call = CALL_FD_FIRST | CALL_SOURCE_SECOND | CALL_MOVES | CALL_TOLD;
	state->argument[1] = state->argument[0];
	state->argument[0] = target.descriptor;
}

struct asked {
	__u32 number;
	__u32 told; /* 0 until it is found */
};

static long is_asked(__u32 at, struct asked *asked)
{
	__u64 request = REQUEST[at & (REQUESTS - 1)];

	if ((__u32)request != asked->number || !(request >> 32))
		return 0;
	asked->told = request >> 32;
	return 1;
}

APART int ioctl_asks(struct task_state *state)
{
	struct clone_range range = {};
	struct asked asked = {};

	if (!state)
		return 0;
	switch ((__u32)state->argument[1]) {
	case FICLONE:
		is_clone(state, TOLD_CLONE, state->argument[2], 0, 0, 0);
		return 0;
	case FICLONERANGE:
		if (bpf_probe_read_user(&range, sizeof range, (void *)state->argument[2]))
			lose(LOSS_ARGUMENTS);
		else
			is_clone(state, TOLD_CLONE_RANGE, range.source, range.source_offset,
				 range.bytes, range.offset);
		return 0;
	case FIDEDUPERANGE:
		is_dedupe(state);
		return 0;
	}
	asked.number = state->argument[1];
	bpf_loop(REQUESTS, is_asked, &asked, 0);
	if (asked.told)
		state->nr = TOLD_BASE + asked.told;
	return 0;
}

static __always_inline __s64 outcome_of(const struct dedupe_outcome *outcome)
{
	return outcome->status < 0 ? outcome->status : (__s64)outcome->bytes;
}

/* The bytes deduplicated to a destination after the first one. */
static long dedupe_one(__u32 index, __u64 *count)
{
	struct task_state *state = current_state();
	struct dedupe_target target = {};
	struct ended ended = {};
	struct file *file;
	__u64 at;

	if (!state || index + 1 >= *count)
		return 1;
	at = state->argument[2] + sizeof(struct dedupe_range) + sizeof target * (index + 1);
	if (bpf_probe_read_user(&target, sizeof target, (void *)at)) {
		lose(LOSS_ARGUMENTS);
		return 1;
	}
	file = number_of_file(target.descriptor);
	if (file) {
		identify(READ(file, f_inode), &ended.file);
		name_file((__u64)file, &ended.file);
	}
	ended.nr = state->nr;
	ended.result = outcome_of(&target.outcome);
	/* The time of the call is counted for its first destination. */
	count_operation(&ended);
	return 0;
}

APART int ioctl_did(struct task_state *state)
{
	__u64 at = state ? state->argument[2] : 0, count = 0;
	struct dedupe_outcome outcome = {}; /* not the whole target: the stack is short here */

	if (!state || state->result < 0)
		return 0;
	if (state->nr == TOLD_BASE + TOLD_CLONE || state->nr == TOLD_BASE + TOLD_CLONE_RANGE)
		state->result = state->argument[2];
	if (state->nr != TOLD_BASE + TOLD_DEDUPE)
		return 0;
	if (bpf_probe_read_user(&count, sizeof(((struct dedupe_range *)0)->count),
				(void *)(at + __builtin_offsetof(struct dedupe_range, count))) ||
	    bpf_probe_read_user(&outcome, sizeof outcome,
				(void *)(at + sizeof(struct dedupe_range) +
					 __builtin_offsetof(struct dedupe_target, outcome)))) {
		lose(LOSS_ARGUMENTS);
		return 0;
	}
	state->result = outcome_of(&outcome);
	if (count > 1)
		bpf_loop(65536, dedupe_one, &count, 0);
	return 0;
}
