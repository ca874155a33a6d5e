/* How writes are done: by the flags of the open file, and of the call. */
#pragma once
#include "maps.h"

/* include/uapi/asm-generic/fcntl.h; O_SYNC has this bit too */
#define O_DSYNC 010000

/* RUN_*; O_DSYNC and O_APPEND by the open file, RWF_* by the call. */
static __always_inline __u32 manner(__u32 file_flags, __u32 call_flags)
{
	__u32 flags = 0;

	if ((file_flags & O_DSYNC) || (call_flags & (RWF_DSYNC | RWF_SYNC)))
		flags |= RUN_DURABLE;
	if (((file_flags & O_APPEND) && !(call_flags & RWF_NOAPPEND)) || (call_flags & RWF_APPEND))
		flags |= RUN_APPENDS;
	return flags;
}

static __always_inline __u32 manner_of(struct task_state *state)
{
	struct file *file = (struct file *)state->open_file;

	return manner(READ(file, f_flags), state->call_flags);
}

/* For a write through a ring: its kiocb is the first part of the request, and has the flags of the
 * operation and of the open file (io_rw_init_file, io_uring/rw.c; iocb_flags, include/linux/fs.h).
 */
static __always_inline __u32 manner_of_request(struct io_kiocb *request)
{
	struct kiocb *kiocb = (struct kiocb *)request;
	__u32 flags = BPF_CORE_READ(kiocb, ki_flags), manner = 0;

	/* IOCB_DSYNC and IOCB_APPEND are the same bits (include/linux/fs.h). */
	if (flags & RWF_DSYNC)
		manner |= RUN_DURABLE;
	if (flags & RWF_APPEND)
		manner |= RUN_APPENDS;
	return manner;
}
