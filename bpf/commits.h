/* Which commit of the journal a sync has waited for, and who took part in its transaction.
 *
 * jbd2 numbers its transactions. A handle is what a task changes metadata under; it belongs to one
 * transaction, and its start names the number (fs/jbd2/transaction.c, jbd2__journal_start). ext4 keeps in
 * each inode the number of the transaction with its last change, and fsync waits for that one to be
 * committed (fs/ext4/fsync.c, ext4_fsync_journal). Both are kept here; what belongs together has the
 * same number. */
#pragma once
#ifdef TOP
#include "identity.h"
#include "top.h"

/* Who took part. The value says nothing. */
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 16384);
	__type(key, struct commit_key);
	__type(value, __u64);
} taking_part SEC(".maps");

/* Syncs that have waited. */
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 4096);
	__type(key, struct commit_key);
	__type(value, __u64);
} waiting_for SEC(".maps");

/* task_state.converts: the next handle is for blocks that were written, or the last one was and has not
 * said of which file. */
#define CONVERTS_NEXT 1
#define CONVERTS_NOW 2

static __always_inline int next_handle_of(__u64 inode)
{
	struct task_state *state = current_state();

	if (!state)
		return 0;
	state->handle_of = inode;
	/* The one for written blocks was refused: the journal is aborted. */
	if (state->converts == CONVERTS_NEXT)
		state->converts = 0;
	return 0;
}

/* Of whom the next handle is a change: ext4 says so before jbd2 gives the number. */
SEC("raw_tp/ext4_journal_start_inode")
int BPF_PROG(handle_of_inode, struct inode *inode)
{
	return next_handle_of(number(inode));
}

/* Of the file system as a whole; before Linux 6.2 of any file. */
SEC("raw_tp/ext4_journal_start_sb")
int BPF_PROG(handle_of_none)
{
	return next_handle_of(0);
}

static __noinline int note_handle(__u64 address, __u32 device, __u32 transaction)
{
	struct inode *inode = (struct inode *)address;
	struct commit_key key = {};
	__u64 one = 1;

	key.device = device;
	key.transaction = transaction;
	key.process = submitting_process();
	key.interval = interval();
	/* A file system without a journal starts no handle, and what was to be changed there stays. */
	if (inode && READ(inode, i_sb, s_dev) == device) {
		identify(inode, &key.file);
		name_inode(&key.file, address);
	}
	if (bpf_map_update_elem(&taking_part, &key, &one, BPF_ANY))
		lose(LOSS_COMMITS);
	return 0;
}

static __always_inline int on_handle(struct task_state *state, __u64 inode, __u32 device,
				     __u32 transaction)
{
	__u32 now = interval();

	/* Most handles are of the same file in the same transaction as the one before. */
	if (state->handle_in == transaction && state->handled == inode &&
	    state->handle_on == device && state->handled_interval == now)
		return 0;
	state->handle_in = transaction;
	state->handle_on = device;
	state->handled = inode;
	state->handled_interval = now;
	return note_handle(inode, device, transaction);
}

/* The last handle for written blocks has converted none. */
static __always_inline void close_conversion(struct task_state *state)
{
	if (state->converts == CONVERTS_NOW)
		on_handle(state, 0, state->converts_on, state->converts_in);
	state->converts = 0;
}

/* Blocks that were written are about to be made part of their file, by a thread of the kernel
 * (fs/ext4/page-io.c). Of which file, ext4 says after jbd2 has given the number. */
SEC("raw_tp/ext4_journal_start_reserved")
int BPF_PROG(handle_of_written)
{
	struct task_state *state = current_state();

	if (!state)
		return 0;
	close_conversion(state);
	state->converts = CONVERTS_NEXT;
	return 0;
}

SEC("raw_tp/jbd2_handle_start")
int BPF_PROG(handle_started, __u32 device, __u32 transaction)
{
	struct task_state *state = current_state();
	__u64 inode;

	if (!state)
		return 0;
	if (state->converts == CONVERTS_NEXT) {
		state->converts = CONVERTS_NOW;
		state->converts_in = transaction;
		state->converts_on = device;
		return 0;
	}
	close_conversion(state);
	inode = state->handle_of;
	state->handle_of = 0;
	return on_handle(state, inode, device, transaction);
}

/* The first of the blocks: each is looked up in its file's tree (ext4_convert_unwritten_io_end_vec,
 * fs/ext4/extents.c). */
SEC("raw_tp/ext4_ext_map_blocks_enter")
int BPF_PROG(written_converted, struct inode *inode)
{
	struct task_state *state = current_state();

	if (!state || state->converts != CONVERTS_NOW)
		return 0;
	state->converts = 0;
	return on_handle(state, (__u64)inode, state->converts_on, state->converts_in);
}

/* The same change goes on in the next transaction. */
SEC("raw_tp/jbd2_handle_restart")
int BPF_PROG(handle_restarted, __u32 device, __u32 transaction)
{
	struct task_state *state = current_state();

	return state ? on_handle(state, state->handled, device, transaction) : 0;
}

/* The number of the last transaction that is committed, of the file system of this inode; 0 where
 * there is no journal. */
static __always_inline __u32 committed(struct inode *inode)
{
	__u64 own, journal;

	if (!HAS(struct ext4_sb_info, s_journal) || !HAS(struct journal_s, j_commit_sequence))
		return 0;
	own = (__u64)READ(inode, i_sb, s_fs_info);
	journal = own ? WORD_OF(struct ext4_sb_info, own, s_journal) : 0;
	return journal ? HALF_OF(struct journal_s, journal, j_commit_sequence) : 0;
}

SEC("raw_tp/ext4_sync_file_enter")
int BPF_PROG(sync_entered, struct file *file, int is_data)
{
	struct task_state *state = current_state();

	if (!state || !state->entered_ns)
		return 0;
	state->sync_is_data = is_data;
	state->sync_committed = committed(READ(file, f_inode));
	return 0;
}

/* The transaction with the last change of the inode. */
static __always_inline __u32 last_change(struct inode *inode, bool of_data)
{
	__u64 own;

	if (!HAS(struct ext4_inode_info, i_sync_tid))
		return 0;
	own = (__u64)inode - bpf_core_field_offset(struct ext4_inode_info, vfs_inode);
	return of_data ? HALF_OF(struct ext4_inode_info, own, i_datasync_tid)
		       : HALF_OF(struct ext4_inode_info, own, i_sync_tid);
}

SEC("raw_tp/ext4_sync_file_exit")
int BPF_PROG(sync_left, struct inode *inode)
{
	struct task_state *state = current_state();
	struct commit_key key = {};
	__u64 zero = 0, *count;
	__u32 before, now;

	if (!state || !state->entered_ns || !state->sync_committed)
		return 0;
	before = state->sync_committed;
	state->sync_committed = 0;
	key.transaction = last_change(inode, state->sync_is_data);
	now = committed(inode);
	/* Committed before: nothing to wait for. Not yet: changed again meanwhile, or a fast commit. The
	 * numbers wrap (tid_gt, include/linux/jbd2.h). */
	if ((__s32)(key.transaction - before) <= 0 || (__s32)(key.transaction - now) > 0)
		return 0;
	key.file = state->file;
	key.device = READ(inode, i_sb, s_dev);
	key.process = state->numbers >> 32;
	key.interval = interval();
	count = bpf_map_lookup_elem(&waiting_for, &key);
	if (!count) {
		bpf_map_update_elem(&waiting_for, &key, &zero, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&waiting_for, &key);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		lose(LOSS_COMMITS);
	return 0;
}
#endif
