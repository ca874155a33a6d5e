/* Calls that only their arguments identify, or whose arguments list what they submit. */
#pragma once
#include "accounting.h"
#include "aio.h"
#include "clone.h"
#include "protect.h"

/* By number (TOLD_BY_*). Set by the loader. */
const volatile __u8 TOLD_BY[SYSCALLS] = {};

/* Separate from the code for every call. May change state->nr, state->call and arguments. */
APART int told_at_entry(struct task_state *state)
{
	__u32 by;

	if (!state)
		return 0;
	by = state->nr < SYSCALLS ? TOLD_BY[state->nr] : 0;
	state->told_by = by;
	switch (by) {
	case TOLD_BY_IOCTL:
		account_aside(state);
		return ioctl_asks(state);
	case TOLD_BY_NOTHING:
		account_aside(state);
		return 0;
	case TOLD_BY_SUBMITTING:
		bpf_loop(AIO_AT_ONCE, submit_one, &by, 0);
		return 0;
	case TOLD_BY_ADVICE:
		if (state->argument[2] == MADV_REMOVE)
			state->nr = TOLD_BASE + TOLD_REMOVE;
	}
	return 0;
}

static __always_inline void told_by_protection(struct task_state *state, __u32 told)
{
	if (state->argument[2] & PROT_WRITE)
		may_be_stored_to(state, state->argument[0], state->argument[1], told);
}

/* May change state->result. */
APART int told_at_exit(struct task_state *state)
{
	__u64 flags = 0;

	if (!state)
		return 0;
	switch (state->told_by) {
	case TOLD_BY_IOCTL:
		account_again(state);
		return ioctl_did(state);
	case TOLD_BY_NOTHING:
		account_again(state);
		return 0;
	case TOLD_BY_SUBMITTING:
		return aio_submitted(state);
	case TOLD_BY_FETCHING:
		return aio_fetched(state);
	case TOLD_BY_HOW: /* the kernel has just read the flags, so their page is resident */
		if (bpf_probe_read_user(&flags, sizeof flags, (void *)state->argument[2]))
			lose(LOSS_ARGUMENTS);
		state->argument[2] = flags;
		return 0;
	case TOLD_BY_MAPPING:
		return map_shares(state);
	case TOLD_BY_PROTECTING:
		told_by_protection(state, TOLD_MPROTECT);
		return 0;
	case TOLD_BY_KEYED_PROTECTING:
		told_by_protection(state, TOLD_PKEY_MPROTECT);
		return 0;
	case TOLD_BY_SYNCING:
		return sync_mapped(state);
	case TOLD_BY_MOVING:
		return may_be_stored_to(state, state->result, state->argument[2], TOLD_MREMAP);
	}
	return 0;
}
