/* Shared file mappings that became writable through a call other than mmap. */
#pragma once
#include "operations.h"

#define VM_WRITE 0x2
#define VM_SHARED 0x8
#define MADV_REMOVE 9

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	struct file *vm_file;
};
#pragma clang attribute pop

struct area {
	__u64 to;
	__u64 file; /* the shared, writable file, 0 for none */
};

static long look_at_area(struct task_struct *task, struct vm_area_struct *vma, struct area *area)
{
	__u64 flags = BPF_CORE_READ(vma, vm_flags);
	__u64 to = BPF_CORE_READ(vma, vm_end);
	__u64 file = (__u64)BPF_CORE_READ(vma, vm_file);

	area->to = to;
	if ((flags & (VM_WRITE | VM_SHARED)) == (VM_WRITE | VM_SHARED))
		area->file = file;
	return 0;
}

struct areas {
	__u64 at;
	__u64 to;
};

/* Maximum number of areas to check, and of attempts per area while the map is being changed: a
 * change takes some microseconds, unless the changing thread has to wait. */
#define LOOKS (1 << 16)

static __always_inline void send_mapped(struct task_state *state, struct file_key *key)
{
	struct step_event *event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	__u64 id = current_numbers();

	if (!event) {
		lose(LOSS_HISTORY);
		return;
	}
	__builtin_memset(event, 0, sizeof *event);
	event->kind = EVENT_STEP;
	event->nr = state->nr;
	event->process = id >> 32;
	event->thread = id;
	event->entered_ns = state->entered_ns;
	event->left_ns = state->entered_ns;
	event->file = *key;
	event->argument[1] = state->argument[1];
	event->argument[2] = state->argument[2];
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static long next_area(__u32 index, struct areas *areas)
{
	struct task_state *state = current_state();
	struct area area = {};
	struct file *file;
	__u64 at = areas->at;
	struct file_key before = {};

	if (!state || at >= areas->to)
		return 1;
	switch (bpf_find_vma(bpf_get_current_task_btf(), at, look_at_area, &area, 0)) {
	case 0:
		break;
	case -16: /* EBUSY: another thread is changing the map of memory */
		return 0;
	default: /* another thread has removed the page: no store to it is possible any more */
		areas->at = (at & ~(PAGE_SIZE - 1)) + PAGE_SIZE;
		return 0;
	}
	areas->at = area.to;
	file = (struct file *)area.file;
	if (!file || (mode_of(READ(file, f_inode)) & S_IFMT) != S_IFREG)
		return 0;
	before = state->file;
	identify(READ(file, f_inode), &state->file);
	name_file((__u64)file, &state->file);
	state->open_file = (__u64)file;
	state->mode = S_IFREG;
	/* Several files: the call is counted for the last, whose step is sent with the call. */
	if (before.inode && !is_same_file(&before, &state->file))
		send_mapped(state, &before);
	return 0;
}

APART int map_shares(struct task_state *state)
{
	__u32 zero = 0;
	__u64 *shared = bpf_map_lookup_elem(&shared_maps, &zero);
	struct file *file;

	if (!state)
		return 0;
	file = (struct file *)state->open_file;
	if (file && shared && state->result >= 0 && (state->argument[3] & MAP_SHARED) &&
	    (state->mode & S_IFMT) == S_IFREG &&
	    (READ(file, f_mode) & FMODE_WRITE))
		*shared |= state->argument[2] & PROT_WRITE ? MAPPED : MAPPED | MAPPED_TO_READ;
	return 0;
}

/* The files of shared mappings in a range that stores may have changed: the call is one on these. */
APART int sync_mapped(struct task_state *state)
{
	struct areas areas = {};

	if (!state)
		return 0;
	areas.at = state->argument[0];
	areas.to = areas.at + state->argument[1];
	bpf_loop(LOOKS, next_area, &areas, 0);
	if (areas.at < areas.to)
		lose(LOSS_ARGUMENTS);
	return 0;
}

/* The mappings in a range become writable. */
APART int may_be_stored_to(struct task_state *state, __u64 address, __u64 bytes, __u32 told)
{
	__u32 zero = 0;
	__u64 *shared = bpf_map_lookup_elem(&shared_maps, &zero);
	struct areas areas = {};
	__u32 nr;

	if (!state || !shared || state->result < 0 ||
	    !(*shared & (told == TOLD_MREMAP ? MAPPED : MAPPED_TO_READ)))
		return 0;
	nr = state->nr;
	areas.at = address;
	areas.to = address + bytes;
	state->nr = TOLD_BASE + told;
	state->argument[1] = bytes;
	state->argument[2] = PROT_WRITE;
	state->argument[3] = MAP_SHARED;
	bpf_loop(LOOKS, next_area, &areas, 0);
	if (areas.at < areas.to)
		lose(LOSS_ARGUMENTS);
	/* The call itself has no file: the mapped file was found. */
	if (state->file.inode)
		state->call = CALL_FD_FIFTH | CALL_STEP | CALL_STOPS; /* like an mmap */
	else
		state->nr = nr;
	return 0;
}
