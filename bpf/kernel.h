/* The kernel's structures, reduced to the fields that are read.
 *
 * Every record carries preserve_access_index: the loader relocates each access to
 * the running kernel's layout by its BTF, so neither field order nor size matters
 * here. Names are the kernel's.
 */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;

/* include/uapi/linux/bpf.h */
enum {
	MAP_HASH = 1,
	MAP_ARRAY = 2,
	MAP_PERCPU_HASH = 5,
	MAP_PERCPU_ARRAY = 6,
	MAP_LRU_HASH = 9,
	MAP_RINGBUF = 27,
	MAP_TASK_STORAGE = 29,
};
#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_F_NO_PREALLOC 1
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_AVAIL_DATA 0

/* include/linux/blk_types.h */
#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3
#define REQ_OP_SECURE_ERASE 5
#define REQ_OP_ZONE_APPEND 7
#define REQ_OP_WRITE_ZEROES 9
#define REQ_OP_FIRST_PASSTHROUGH 32

/* include/uapi/linux/stat.h */
#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFDIR 0040000
#define S_IFSOCK 0140000
#define S_IFBLK 0060000

/* include/linux/sched.h */
#define PF_EXITING 0x00000004 /* set before sched_process_exit (do_exit, kernel/exit.c) */
#define PF_IO_WORKER 0x00000010
#define PF_LOCAL_THROTTLE 0x00100000
#define PF_WQ_WORKER 0x00000020
#define PF_KTHREAD 0x00200000

/* arch/x86/include/asm/thread_info.h: the call came through the 32-bit entry */
#define TS_COMPAT 0x0002
/* __X32_SYSCALL_BIT, arch/x86/include/uapi/asm/unistd.h */
#define X32_BIT 0x40000000

/* include/uapi/linux/magic.h; fs/btrfs: BTRFS_BTREE_INODE_OBJECTID */
#define BTRFS_SUPER_MAGIC 0x9123683E
#define EXT4_SUPER_MAGIC 0xEF53
#define BTRFS_TREES_INODE 1

/* include/linux/fs.h: mounted where no path leads */
#define SB_NOUSER (1UL << 31)

/* include/linux/fs.h: mounted with `sync`, or chattr +S (IS_SYNC) */
#define SB_SYNCHRONOUS (1UL << 4)
/* ... with `lazytime`: access times are written later, by workers */
#define SB_LAZYTIME (1UL << 25)
#define S_SYNC 1

/* include/linux/fs.h */
#define FMODE_WRITE 0x2
#define FMODE_CREATED 0x100000

/* include/uapi/linux/fcntl.h, include/uapi/asm-generic/fcntl.h */
#define AT_FDCWD -100
#define O_TRUNC 01000
#define O_APPEND 02000

/* include/uapi/linux/fs.h: flags of one preadv2(2) or pwritev2(2) */
#define RWF_DSYNC 0x2
#define RWF_SYNC 0x4
#define RWF_APPEND 0x10
#define RWF_NOAPPEND 0x20

/* include/uapi/asm-generic/fcntl.h, include/uapi/linux/fs.h; long is 64 bits */
#define F_SETFL 4
#define FS_IOC_SETFLAGS 0x40086602
#define FS_IOC_FSSETXATTR 0x401c5820

/* arch/x86/include/uapi/asm/signal.h, include/uapi/asm-generic/signal.h */
#define SIGSTOP 19

/* include/uapi/linux/mman.h, include/uapi/asm-generic/mman-common.h */
#define PROT_WRITE 2
#define MAP_SHARED 1

#define PAGE_SHIFT 12
#define PAGE_SIZE (1ULL << PAGE_SHIFT)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long di, si, dx, r10, r8, r9, ax, orig_ax;
	unsigned long ip, sp, bp;
};
struct list_head {
	struct list_head *next;
};
struct file_system_type {
	const char *name;
};
struct super_block {
	__u32 s_dev;
	unsigned long s_flags;
	unsigned long s_magic;
	struct file_system_type *s_type;
	void *s_fs_info;
	struct mount *s_mounts; /* since Linux 6.17 */
};
struct hlist_node;
struct hlist_head {
	struct hlist_node *first;
};
struct hlist_node {
	struct hlist_node *next;
	struct hlist_node **pprev;
};
struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};
struct inode {
	__u16 i_mode;
	unsigned int i_flags;
	struct super_block *i_sb;
	struct address_space *i_mapping;
	unsigned long i_ino;
	__u32 i_generation;
	__u32 i_rdev;
	unsigned int i_nlink;
	long long i_size;
	struct hlist_head i_dentry;
};
struct qstr {
	const unsigned char *name;
};
struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	union {
		struct hlist_node d_alias;
	} d_u;
};
struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
};
struct btrfs_root {
	__u32 anon_dev;
};
struct btrfs_inode {
	struct btrfs_root *root;
	struct inode vfs_inode;
};
struct ovl_sb {
	__u32 pseudo_dev;
};
struct ovl_layer {
	int fsid;
};
struct ovl_fs {
	struct ovl_sb *fs;
	int xino_mode;
};
struct ovl_path {
	struct ovl_layer *layer;
	struct dentry *dentry;
};
struct ovl_entry {
	unsigned int __numlower;
	struct ovl_path __lowerstack[0];
};
struct ovl_inode {
	struct inode vfs_inode;
	struct dentry *__upperdentry;
	struct ovl_entry *oe;
	struct ovl_path lowerpath; /* before Linux 6.5 */
};
struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct mount *mnt_next_for_sb;  /* since Linux 6.17, */
	struct list_head mnt_instance;  /* ... and before */
	struct mnt_namespace *mnt_ns;
};
struct super_block___before_6_17 {
	struct list_head s_mounts;
};
struct mnt_namespace;
struct nsproxy {
	struct mnt_namespace *mnt_ns;
};
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};
typedef struct {
	__s64 counter;
} atomic64_t;
typedef struct {
	atomic64_t refcnt; /* of references besides the first (include/linux/file_ref.h) */
} file_ref_t;
struct file {
	file_ref_t f_ref;   /* since Linux 6.13, */
	atomic64_t f_count; /* ... and before: of all references */
	__u32 f_mode;
	__u32 f_flags;
	long long f_pos;
	struct path f_path;
	struct inode *f_inode;
	struct address_space *f_mapping;
};
/* include/linux/uidgid_types.h */
typedef struct {
	__u32 val;
} kuid_t;
typedef struct {
	__u32 val;
} kgid_t;
typedef struct {
	__u64 val; /* before Linux 6.3 two halves, in an array */
} kernel_cap_t;
struct user_namespace {
	struct user_namespace *parent;
	kuid_t owner;
};
struct cred {
	kuid_t uid;
	kgid_t gid;
	kuid_t suid;
	kgid_t sgid;
	kuid_t euid;
	kgid_t egid;
	kernel_cap_t cap_permitted;
	struct user_namespace *user_ns;
};
struct mm_struct {
	struct file *exe_file;
	unsigned long arg_start;
	unsigned long exec_vm;
	unsigned long flags; /* before Linux 6.18 */
	struct user_namespace *user_ns;
};
typedef struct {
	unsigned long __mm_flags[1];
} mm_flags_t;
struct mm_struct___since_6_18 {
	mm_flags_t flags;
};
struct fs_struct {
	struct path root;
	struct path pwd;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
typedef struct {
	int counter;
} atomic_t;
struct files_struct {
	atomic_t count;
	struct fdtable *fdt;
};
struct thread_info {
	__u32 status;
	__u32 cpu;
};
struct fs_pin;
struct pid_namespace {
	struct fs_pin *bacct; /* of process accounting; only where the kernel has it */
};
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1]; /* one for each level (include/linux/pid.h) */
};
struct signal_struct {
	atomic_t live; /* threads that do not end */
	int nr_threads;
	int group_exit_code;
};
struct kernfs_node {
	__u64 id;
};
struct cgroup;
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};
struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};
struct css_set {
	struct cgroup *dfl_cgrp; /* of the hierarchy of version 2 */
};
struct sched_entity {
	__u64 exec_start; /* up to when the sum counts, on the clock of the run queue */
	__u64 sum_exec_runtime;
};
/* What the task has moved by calls, in bytes; only where the kernel has extended accounting. */
struct task_io_accounting {
	__u64 rchar;
	__u64 wchar;
};
struct bpf_local_storage;
struct task_struct {
	struct thread_info thread_info;
	unsigned long stack_canary;
	struct bpf_local_storage *bpf_storage;
	unsigned int flags;
	unsigned int __state;
	int exit_state;
	int pid;
	int tgid;
	char comm[16];
	struct task_struct *real_parent;
	struct list_head children;
	struct task_struct *group_leader;
	struct cred *real_cred;
	struct cred *cred;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct fs_struct *fs;
	struct nsproxy *nsproxy;
	struct files_struct *files;
	struct css_set *cgroups;
	void *worker_private; /* of an io_uring worker its struct io_worker */
	__u64 self_exec_id;
	__u64 start_time;
	int on_cpu; /* not on machines of one CPU before Linux 6.17 */
	struct sched_entity se;
	unsigned long min_flt;
	unsigned long maj_flt;
	struct task_io_accounting ioac;
};
struct xarray {
	unsigned int xa_flags;
};
struct address_space {
	struct inode *host;
	struct xarray i_pages;
	unsigned long nrpages;
};
struct iov_iter {
	unsigned long count;
};
struct file_ra_state {
	unsigned int ra_pages;
};
struct readahead_control {
	struct address_space *mapping;
	struct file_ra_state *ra;
	unsigned long _index;
};
struct vm_area_struct;
struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long pgoff;
};
struct renamedata {
	struct inode *old_dir;
	struct dentry *old_dentry;
	struct inode *new_dir;
	struct dentry *new_dentry;
};
struct page {
	unsigned long compound_head;
};
struct folio {
	struct address_space *mapping;
	unsigned long index;
	unsigned long _flags_1;
	unsigned char _folio_order; /* before Linux 6.6 */
};
enum pageflags {
	PG_head = 6,
	PG_writeback = 1,
};
struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};
struct bvec_iter {
	unsigned int bi_size;
	unsigned int bi_idx;
	unsigned int bi_bvec_done;
};
struct gendisk {
	int major;
	int first_minor;
	__u64 diskseq;
};
struct block_device {
	struct gendisk *bd_disk;
	__u32 bd_dev;
};
struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	__u32 bi_opf;
	struct bvec_iter bi_iter;
	void *bi_end_io;
	void *bi_private;
	unsigned short bi_vcnt;
	atomic_t __bi_remaining;
	struct bio_vec *bi_io_vec;
};
struct buffer_head {
	void *b_end_io;
};
struct kiocb {
	struct file *ki_filp;
	int ki_flags;
	long long ki_pos;
};
struct iomap_dio {
	struct kiocb *iocb;
};
struct request_queue {
	struct gendisk *disk;
};
struct request {
	struct request_queue *q;
	__u32 cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
	struct bio *bio;
	struct bio *biotail;
	void *end_io;
	__u64 start_time_ns;
	struct blk_mq_hw_ctx *mq_hctx;
	struct list_head queuelist;
	struct {
		struct list_head list;
	} flush; /* with the list until Linux 6.6 */
};
struct blk_flush_queue {
	struct list_head flush_queue[2];
};
struct blk_mq_hw_ctx {
	struct blk_flush_queue *fq;
};
struct io_ring_ctx;
struct io_cqe {
	int fd; /* valid until it has ended */
};
struct io_wq_work {
	int cancel_seq;
};
struct io_kiocb {
	struct file *file;
	__u8 opcode;
	__u64 flags;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
	struct io_kiocb *link;
	struct io_wq_work work;
};
struct io_uring_cqe {
	__s32 res;
};
struct xfs_mount {
	struct super_block *m_super;
};
struct xfs_trans {
	struct xfs_mount *t_mountp;
};
struct xfs_inode {
	struct xfs_mount *i_mount;
};
struct btrfs_fs_info {
	struct super_block *sb;
};
struct journal_s {
	struct task_struct *j_task;
	struct block_device *j_fs_dev;
	__u32 j_commit_sequence;
};
struct transaction_s {
	__u32 t_tid;
	__u64 t_start_time;
};
struct ext4_sb_info {
	struct journal_s *s_journal;
};
struct ext4_inode_info {
	struct inode vfs_inode;
	__u32 i_sync_tid;
	__u32 i_datasync_tid;
};
struct bpf_iter_meta {
	__u64 seq_num;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop
