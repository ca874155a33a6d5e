/* io_uring's requests: the kernel's structures, reduced to the fields that are read. Each of
 * these begins where the request does (struct io_cmd_data, include/linux/io_uring_types.h). */
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
#define IORING_OP_FTRUNCATE 55
#define IORING_OP_READV_FIXED 60
#define IORING_OP_WRITEV_FIXED 61
#define IORING_FSYNC_DATASYNC 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct io_rw {
	struct kiocb kiocb;
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
struct io_open {
	__u32 file_slot;
	struct open_how how;
};
struct io_close {
	int fd;
	__u32 file_slot;
};
struct io_madvise {
	__u32 advice;
};
#pragma clang attribute pop
