/* Who took part in the transaction that a thread of jbd2 commits.
 *
 * jbd2 numbers its transactions. A task changes metadata under a handle, which belongs to one transaction and names its
 * number when it starts (jbd2__journal_start, fs/jbd2/transaction.c). From jbd2_start_commit to jbd2_end_commit the
 * journal's thread writes one transaction (jbd2_journal_commit_transaction, fs/jbd2/commit.c). After its first request
 * nobody joins. */
#pragma once
#include "lives.h"

#define PARTY_RUN 1
#define PARTY_OTHERS 2
#define PARTY_ANY 4 /* not known */

struct transaction_key {
	__u32 device; /* of the file system */
	__u32 number;
};

/* PARTY_*, until it is committed. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct transaction_key);
	__type(value, __u32);
} parties SEC(".maps");

/* What the threads of journals commit, by thread. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct transaction_key);
} committing SEC(".maps");

/* A worker's handle is for those who have dirtied the pages of a file. */
struct worker_handle {
	__u32 party; /* 0: of a file that is not known yet */
	struct transaction_key of;
};

struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct worker_handle);
} worker_handles SEC(".maps");

static __always_inline bool is_worker(struct task_struct *task)
{
	return task->flags & PF_WQ_WORKER;
}

static __always_inline void take_part(struct transaction_key *of, __u32 party)
{
	__u32 *known = bpf_map_lookup_elem(&parties, of);

	if (!known) {
		bpf_map_update_elem(&parties, of, &party, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&parties, of);
	}
	if (!known)
		lose(LOSS_BLOCK);
	else if ((*known & party) != party)
		__sync_fetch_and_or(known, party);
}

APART int party_of_file(__u64 address)
{
	struct inode *inode = (struct inode *)address;
	struct file_key file = {};
	struct life *life;

	if (!inode || (READ(inode, i_sb, s_flags) & SB_LAZYTIME))
		return PARTY_ANY;
	identify(inode, &file);
	life = bpf_map_lookup_elem(&lives, &file);
	if (!life)
		return PARTY_OTHERS;
	return life->before_bytes || life->others_bytes ? PARTY_RUN | PARTY_OTHERS : PARTY_RUN;
}

/* Before a worker's handle, ext4 says of which file it is a change. */
static __always_inline void next_handle(__u32 party)
{
	struct worker_handle next = { .party = party };
	__u32 thread = bpf_get_current_task_btf()->pid;

	bpf_map_update_elem(&worker_handles, &thread, &next, BPF_ANY);
}

/* Blocks that were written are made part of their file; of which, it says after the start of the handle
 * (fs/ext4/page-io.c). */
SEC("raw_tp/ext4_journal_start_reserved")
int BPF_PROG(ext4_converts)
{
	if (is_worker(bpf_get_current_task_btf()))
		next_handle(0);
	return 0;
}

/* The first of the blocks: each is looked up in its file's tree (ext4_convert_unwritten_io_end_vec,
 * fs/ext4/extents.c). */
SEC("raw_tp/ext4_ext_map_blocks_enter")
int BPF_PROG(ext4_maps, struct inode *inode)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct worker_handle *handle;
	struct transaction_key of;
	__u32 thread = task->pid;

	if (!is_worker(task))
		return 0;
	handle = bpf_map_lookup_elem(&worker_handles, &thread);
	if (!handle || handle->party || !handle->of.number)
		return 0;
	of = handle->of;
	handle->party = party_of_file(number(inode));
	take_part(&of, handle->party);
	return 0;
}

static __always_inline int joins(__u32 device, __u32 transaction, bool is_next)
{
	struct transaction_key of = { .device = device, .number = transaction };
	struct task_struct *task = bpf_get_current_task_btf();
	struct worker_handle *handle;
	__u32 thread = task->pid;

	if (is_for_run(task)) {
		take_part(&of, PARTY_RUN);
		return 0;
	}
	if (!is_worker(task)) {
		take_part(&of, PARTY_OTHERS);
		return 0;
	}
	handle = bpf_map_lookup_elem(&worker_handles, &thread);
	if (!handle || (!is_next && !handle->party)) {
		take_part(&of, PARTY_ANY);
		return 0;
	}
	handle->of = of;
	if (handle->party)
		take_part(&of, handle->party);
	return 0;
}

SEC("raw_tp/jbd2_handle_start")
int BPF_PROG(joined_transaction, __u32 device, __u32 transaction)
{
	return joins(device, transaction, 1);
}

/* The same change goes on in the next transaction. */
SEC("raw_tp/jbd2_handle_restart")
int BPF_PROG(joined_next_transaction, __u32 device, __u32 transaction)
{
	return joins(device, transaction, 0);
}

static __always_inline __u32 device_of(__u64 journal)
{
	struct block_device *device =
		(struct block_device *)WORD_OF(struct journal_s, journal, j_fs_dev);

	return device ? READ(device, bd_dev) : 0;
}

SEC("raw_tp/jbd2_start_commit")
int BPF_PROG(commit_started, __u64 journal, __u64 transaction)
{
	__u32 thread = bpf_get_current_task_btf()->pid;
	struct transaction_key of = {};
	struct config *c = configuration();

	/* Who took part before the run began is not known. */
	if (!c || !c->started_ns || !HAS(struct transaction_s, t_start_time) ||
	    WORD_OF(struct transaction_s, transaction, t_start_time) < c->started_ns)
		return 0;
	of.device = device_of(journal);
	of.number = HALF_OF(struct transaction_s, transaction, t_tid);
	bpf_map_update_elem(&committing, &thread, &of, BPF_ANY);
	return 0;
}

SEC("raw_tp/jbd2_end_commit")
int BPF_PROG(commit_ended, __u64 journal, __u64 transaction)
{
	__u32 thread = bpf_get_current_task_btf()->pid;
	struct transaction_key of = {
		.device = device_of(journal),
		.number = HALF_OF(struct transaction_s, transaction, t_tid),
	};

	bpf_map_delete_elem(&committing, &thread);
	bpf_map_delete_elem(&parties, &of);
	return 0;
}

/* For whom the thread of a journal writes; 0 where only who else is seen on the disk can tell. */
static __always_inline __u32 commit_of(struct task_struct *task)
{
	__u32 thread = task->pid, *party;
	struct transaction_key *of, key;

	if (!(task->flags & PF_KTHREAD) || is_worker(task))
		return 0;
	of = bpf_map_lookup_elem(&committing, &thread);
	if (!of)
		return 0;
	key = *of;
	party = bpf_map_lookup_elem(&parties, &key);
	if (!party)
		return 0;
	if (*party & PARTY_OTHERS)
		return *party == PARTY_OTHERS ? SUBMITTED_BY_OTHERS : SUBMITTED_BY_WORKER;
	return *party == PARTY_RUN ? SUBMITTED_BY_RUN : 0;
}
