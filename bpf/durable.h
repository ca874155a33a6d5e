/* Writes that are durable when they return: by the flags of the open file, or of the call. */
#pragma once
#include "maps.h"

/* include/uapi/asm-generic/fcntl.h; O_SYNC has this bit too */
#define O_DSYNC 010000

static __always_inline bool is_durable(struct task_state *state)
{
	struct file *file = (struct file *)state->open_file;

	if (state->call_flags & (RWF_DSYNC | RWF_SYNC))
		return 1;
	return READ(file, f_flags) & O_DSYNC;
}

/* For a write through a ring: its kiocb is the first part of the request, and has the flags of the
 * operation and of the open file (io_rw_init_file, io_uring/rw.c; iocb_flags, include/linux/fs.h).
 */
static __always_inline bool is_durable_request(struct io_kiocb *request)
{
	struct kiocb *kiocb = (struct kiocb *)request;

	/* IOCB_DSYNC is the same bit (include/linux/fs.h). */
	return BPF_CORE_READ(kiocb, ki_flags) & RWF_DSYNC;
}
