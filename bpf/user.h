/* User-space structures that calls get by address. */
#pragma once

/* include/uapi/linux/aio_abi.h */
struct aio_block {
	__u64 data;
	__u32 key;
	__u32 rw_flags;
	__u16 opcode;
	__s16 priority;
	__u32 descriptor;
	__u64 buffer;
	__u64 bytes;
	__s64 offset;
	__u64 reserved;
	__u32 flags;
	__u32 result_descriptor;
};
struct aio_result {
	__u64 data;
	__u64 block;
	__s64 result;
	__s64 result2;
};
#define AIO_PREAD 0
#define AIO_PWRITE 1
#define AIO_FSYNC 2
#define AIO_FDSYNC 3
#define AIO_PREADV 7
#define AIO_PWRITEV 8

/* include/uapi/linux/fs.h */
struct clone_range {
	__s64 source;
	__u64 source_offset;
	__u64 bytes;
	__u64 offset;
};
struct dedupe_range {
	__u64 source_offset;
	__u64 bytes;
	__u16 count;
	__u16 reserved[3];
};
struct dedupe_outcome {
	__u64 bytes;
	__s32 status;
	__u32 reserved;
};
struct dedupe_target {
	__s64 descriptor;
	__u64 offset;
	struct dedupe_outcome outcome;
};
