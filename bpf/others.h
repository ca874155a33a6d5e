/* Possible owners of requests without a file: who changed or synced which file system, and which
 * disks received requests from tasks outside the tree.
 *
 * A journal commits for all who changed something, and a device flush serves all at once. Neither
 * request names its owner, so only the absence of others proves it.
 */
#pragma once
#include "transactions.h"

/* An entry for each use seen; the number of times does not matter. */
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, USES);
	__type(key, struct use_key);
	__type(value, __u8);
} uses SEC(".maps");

static __always_inline void note(__u32 device, __u32 use)
{
	struct use_key key = { .device = device, .using = use };
	__u8 yes = 1;

	/* A full table is recognised by its length. */
	if (!bpf_map_lookup_elem(&uses, &key))
		bpf_map_update_elem(&uses, &key, &yes, BPF_ANY);
}

/* Work queues write back for the task that dirtied the pages, and the file of the pages identifies
 * it. Kernel threads outside work queues (an NFS server, ext4's lazy initialisation) work for
 * others. */
static __always_inline void note_change(struct super_block *sb)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!sb)
		return;
	if (is_for_run(task))
		note(READ(sb, s_dev), USE_TREE_CHANGED);
	else if (!is_worker(task))
		note(READ(sb, s_dev), USE_OTHERS_CHANGED);
}

/* A bio of a task outside the tree. Bios from kernel threads (a journal's commits, write-back) are
 * for whichever task changed the file system. */
static __always_inline void note_bio(struct bio *bio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct gendisk *disk;
	__u32 device;

	if (!HISTORY || task->flags & PF_KTHREAD || (bio->bi_opf & REQ_OP_MASK) == REQ_OP_READ)
		return;
	disk = WALK(bio, bi_bdev, bd_disk);
	if (!disk)
		return;
	device = (__u32)disk->major << 20 | (__u32)disk->first_minor;
	note(device, USE_OTHERS_WROTE);
}

/* Raw tracepoints, found by name also in a module: their arguments are untyped. */

/* Every change of an ext4 file system starts a handle, even without a journal
 * (__ext4_journal_start_sb, fs/ext4/ext4_jbd2.c). */
SEC("raw_tp/ext4_journal_start_inode")
int BPF_PROG(ext4_changed, struct inode *inode)
{
	if (is_worker(bpf_get_current_task_btf()))
		next_handle(party_of_file(number(inode)));
	note_change(READ(inode, i_sb));
	return 0;
}

SEC("raw_tp/ext4_journal_start_sb")
int BPF_PROG(ext4_changed_whole, struct super_block *sb)
{
	if (is_worker(bpf_get_current_task_btf()))
		next_handle(PARTY_ANY);
	note_change(sb);
	return 0;
}

SEC("raw_tp/ext4_sync_file_enter")
int BPF_PROG(ext4_synced, struct file *file)
{
	note_change(READ(file, f_inode, i_sb));
	return 0;
}

SEC("raw_tp/ext4_sync_fs")
int BPF_PROG(ext4_synced_whole, struct super_block *sb)
{
	note_change(sb);
	return 0;
}

static __always_inline void note_xfs(__u64 mount)
{
	note_change((struct super_block *)WORD_OF(struct xfs_mount, mount, m_super));
}

SEC("raw_tp/xfs_trans_alloc")
int BPF_PROG(xfs_changed, __u64 transaction)
{
	note_xfs(WORD_OF(struct xfs_trans, transaction, t_mountp));
	return 0;
}

SEC("raw_tp/xfs_file_fsync")
int BPF_PROG(xfs_synced, __u64 inode)
{
	note_xfs(WORD_OF(struct xfs_inode, inode, i_mount));
	return 0;
}

SEC("raw_tp/xfs_fs_sync_fs")
int BPF_PROG(xfs_synced_whole, __u64 mount)
{
	note_xfs(mount);
	return 0;
}

static __always_inline void note_btrfs(__u64 fs)
{
	note_change((struct super_block *)WORD_OF(struct btrfs_fs_info, fs, sb));
}

/* A transaction reserves space for its metadata (start_transaction, fs/btrfs/transaction.c). */
SEC("raw_tp/btrfs_space_reservation")
int BPF_PROG(btrfs_changed, __u64 fs)
{
	note_btrfs(fs);
	return 0;
}

SEC("raw_tp/btrfs_sync_file")
int BPF_PROG(btrfs_synced, struct file *file)
{
	note_change(READ(file, f_inode, i_sb));
	return 0;
}

SEC("raw_tp/btrfs_sync_fs")
int BPF_PROG(btrfs_synced_whole, __u64 fs)
{
	note_btrfs(fs);
	return 0;
}
