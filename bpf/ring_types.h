/* io_uring's requests: the kernel's structures, reduced to the fields that are read. Each of these
 * begins at the start of the request (struct io_cmd_data, include/linux/io_uring_types.h). */
#pragma once
#include "kernel.h"

/* include/uapi/linux/io_uring.h, enum io_uring_op */
#define IORING_OP_READV 1
#define IORING_OP_WRITEV 2
#define IORING_OP_FSYNC 3
#define IORING_OP_READ_FIXED 4
#define IORING_OP_WRITE_FIXED 5
#define IORING_OP_SYNC_FILE_RANGE 8
#define IORING_OP_FALLOCATE 17
#define IORING_OP_OPENAT 18
#define IORING_OP_CLOSE 19
#define IORING_OP_READ 22
#define IORING_OP_WRITE 23
#define IORING_OP_MADVISE 25
#define IORING_OP_OPENAT2 28
#define IORING_OP_SPLICE 30
#define IORING_OP_RENAMEAT 35
#define IORING_OP_UNLINKAT 36
#define IORING_OP_MKDIRAT 37
#define IORING_OP_SYMLINKAT 38
#define IORING_OP_LINKAT 39
#define IORING_OP_FSETXATTR 41
#define IORING_OP_SETXATTR 42
#define IORING_OP_FTRUNCATE 55
#define IORING_OP_READV_FIXED 60
#define IORING_OP_WRITEV_FIXED 61
#define IORING_FSYNC_DATASYNC 1
#define IORING_FILE_INDEX_ALLOC (~0U)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct io_rw {
	struct kiocb kiocb;
	__u64 addr;
	__u32 len;
	int flags;
};
struct io_sync {
	long long len;
	long long off;
	int flags;
	int mode;
};
struct io_ftrunc {
	long long len;
};
struct io_splice {
	long long off_out;
};
struct open_how {
	__u64 flags;
};
struct filename {
	const char *name;
};
struct io_open {
	int dfd;
	__u32 file_slot;
	struct filename *filename;
	struct open_how how;
};
struct io_rename {
	int old_dfd;
	int new_dfd;
	struct filename *oldpath;
	struct filename *newpath;
	int flags;
};
struct io_unlink {
	int dfd;
	int flags;
	struct filename *filename;
};
struct io_mkdir {
	int dfd;
	__u16 mode;
	struct filename *filename;
};
struct io_link {
	int old_dfd;
	int new_dfd;
	struct filename *oldpath;
	struct filename *newpath;
	int flags;
};
struct xattr_name {
	char name[256];
};
struct kernel_xattr_ctx {
	void *kvalue;
	unsigned long size;
	struct xattr_name *kname;
	unsigned int flags;
};
struct io_xattr {
	struct kernel_xattr_ctx ctx;
	struct filename *filename;
};
struct io_worker {
	struct io_wq_work *cur_work;
};
struct io_rsrc_node {
	unsigned long file_ptr;
};
struct io_rsrc_data {
	unsigned int nr;
	struct io_rsrc_node **nodes;
};
struct io_file_table {
	struct io_rsrc_data data; /* since Linux 6.13, */
	void *files;              /* ... and before */
};
struct io_ring_ctx {
	struct io_file_table file_table;
	unsigned int nr_user_files; /* before Linux 6.13 */
};
struct io_close {
	int fd;
	__u32 file_slot;
};
struct io_madvise {
	__u32 advice;
};
#pragma clang attribute pop
