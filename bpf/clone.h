/* Requests of ioctl that change what files hold: told by their number. */
#pragma once
#include "operations.h"
#include "user.h"

/* include/uapi/linux/fs.h */
#define FICLONE 0x40049409
#define FICLONERANGE 0x4020940d
#define FIDEDUPERANGE 0xc0189436

/* fs/xfs/libxfs/xfs_fs.h, include/uapi/linux/falloc.h: fallocate's forerunners, of which those
 * for regular files work on all file systems (fs/ioctl.c). */
#define IOC_RESVSP 0x40305828
#define IOC_UNRESVSP 0x40305829
#define IOC_RESVSP64 0x4030582a
#define IOC_UNRESVSP64 0x4030582b
#define IOC_ALLOCSP 0x4030580a
#define IOC_ALLOCSP64 0x40305824
#define IOC_FREESP 0x4030580b
#define IOC_FREESP64 0x40305825
#define IOC_ZERO_RANGE 0x40305839
#define IOC_SWAPEXT 0xc0c0586d
#define IOC_EXCHANGE_RANGE 0x40285881
#define IOC_COMMIT_RANGE 0x40485883
#define EXT4_IOC_MOVE_EXT 0xc028660f
#define F2FS_IOC_MOVE_RANGE 0xc020f509
/* include/uapi/linux/fs.h: _IO(0x12, 119), (125), (127) */
#define BLKDISCARD 0x1277
#define BLKSECDISCARD 0x127d
#define BLKZEROOUT 0x127f
/* include/uapi/linux/btrfs.h */
#define BTRFS_SNAP_CREATE 0x50009401
#define BTRFS_SUBVOL_CREATE 0x5000940e
#define BTRFS_SNAP_DESTROY 0x5000940f
#define BTRFS_SNAP_CREATE_V2 0x50009417
#define BTRFS_SUBVOL_CREATE_V2 0x50009418
#define BTRFS_SNAP_DESTROY_V2 0x5000943f

#define CLONES (CALL_FD_FIRST | CALL_SOURCE_SECOND | CALL_WRITES | CALL_MOVES | CALL_OFFSET)

/* From here on the call is like a copy: its arguments are the file written to, the one read
 * from, the length and the offset. */
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
	state->call = CALL_FD_FIRST | CALL_SOURCE_SECOND | CALL_TOLD;
	state->argument[1] = state->argument[0];
	state->argument[0] = target.descriptor;
}

APART int ioctl_asks(struct task_state *state)
{
	struct clone_range range = {};
	__u32 told = 0;

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
	case IOC_RESVSP:
	case IOC_UNRESVSP:
	case IOC_RESVSP64:
	case IOC_UNRESVSP64:
	case IOC_ALLOCSP:
	case IOC_ALLOCSP64:
	case IOC_FREESP:
	case IOC_FREESP64:
	case IOC_ZERO_RANGE:
		told = TOLD_SPACE;
		break;
	case IOC_SWAPEXT:
	case IOC_EXCHANGE_RANGE:
	case IOC_COMMIT_RANGE:
	case EXT4_IOC_MOVE_EXT:
	case F2FS_IOC_MOVE_RANGE:
		told = TOLD_EXCHANGE;
		break;
	case BLKDISCARD:
	case BLKSECDISCARD:
	case BLKZEROOUT:
		told = TOLD_DISCARD;
		break;
	case BTRFS_SNAP_CREATE:
	case BTRFS_SUBVOL_CREATE:
	case BTRFS_SNAP_DESTROY:
	case BTRFS_SNAP_CREATE_V2:
	case BTRFS_SUBVOL_CREATE_V2:
	case BTRFS_SNAP_DESTROY_V2:
		told = TOLD_SUBVOLUME;
	}
	if (told)
		state->nr = TOLD_BASE + told;
	return 0;
}

/* What a destination after the first one got. */
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
	ended.result = target.status < 0 ? target.status : (__s64)target.bytes;
	/* The time of the call is counted at its first destination. */
	count_operation(&ended);
	return 0;
}

APART int ioctl_did(struct task_state *state)
{
	struct dedupe_target target = {};
	struct dedupe_range range = {};
	__u64 count;

	if (!state || state->result < 0)
		return 0;
	if (state->nr == TOLD_BASE + TOLD_CLONE || state->nr == TOLD_BASE + TOLD_CLONE_RANGE)
		state->result = state->argument[2];
	if (state->nr != TOLD_BASE + TOLD_DEDUPE)
		return 0;
	if (bpf_probe_read_user(&range, sizeof range, (void *)state->argument[2]) ||
	    bpf_probe_read_user(&target, sizeof target,
				(void *)(state->argument[2] + sizeof range))) {
		lose(LOSS_ARGUMENTS);
		return 0;
	}
	state->result = target.status < 0 ? target.status : (__s64)target.bytes;
	count = range.count;
	if (count > 1)
		bpf_loop(65536, dedupe_one, &count, 0);
	return 0;
}
