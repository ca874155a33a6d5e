/* Who belongs to the tree besides one root and what it has started: other processes that were named,
 * tasks in a control group, and tasks that exec a program of a certain name. */
#pragma once
#include "numbers.h"

/* Processes, by their number for the loader. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u8);
} wanted_roots SEC(".maps");

/* Control groups, by their number (kernfs_node.id, the inode of the directory). */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, WANTED);
	__type(key, __u64);
	__type(value, __u8);
} wanted_groups SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, WANTED);
	__type(key, struct wanted_name);
	__type(value, __u8);
} wanted_names SEC(".maps");

/* Who came while it was observed, and how. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, JOINED);
	__type(key, struct joined_key);
	__type(value, struct joined);
} joined SEC(".maps");

static __always_inline bool wants(struct config *c, __u32 what)
{
	return c && (c->wants & what);
}

struct climbing {
	__u64 group;
	__u64 found;
};

static long climb_groups(__u32 level, struct climbing *up)
{
	struct cgroup *group = (struct cgroup *)up->group;
	__u64 id = READ(group, kn, id);
	struct cgroup_subsys_state *above = READ(group, self.parent);

	up->found = !!bpf_map_lookup_elem(&wanted_groups, &id);
	up->group = above ? (__u64)READ(above, cgroup) : 0;
	return up->found || !up->group;
}

/* Levels of control groups that are looked at: more than a path has room for. */
#define LEVELS 2048

/* Whether the task is in one of the groups, or below: those of version 2. */
static __always_inline bool is_in_group(struct task_struct *task)
{
	struct climbing up = { .group = (__u64)READ(task, cgroups, dfl_cgrp) };

	/* One that has no number here cannot be named either. */
	if (!up.group || !process_of(task) || is_observer(task))
		return 0;
	bpf_loop(LEVELS, climb_groups, &up, 0);
	return up.found;
}

struct words {
	__u64 at;
	__u32 base; /* where the last name of a path begins */
	__u32 pad;
};

static long pass_byte(__u32 index, struct words *words)
{
	char byte = 0;

	if (bpf_probe_read_user(&byte, 1, (void *)words->at + index) || !byte)
		return 1;
	if (byte == '/')
		words->base = index + 1;
	return 0;
}

/* PATH_MAX, include/uapi/linux/limits.h */
#define LONGEST_PATH 4096

/* By which of its names a program is wanted that the current task has just become (JOINED_*). */
static __always_inline __u32 wanted_by_name(struct task_struct *task)
{
	struct words words = { .at = READ(task, mm, arg_start) };
	struct wanted_name name = {};
	__u32 by = 0;

	bpf_probe_read_kernel_str(&name, sizeof task->comm, task->comm);
	if (bpf_map_lookup_elem(&wanted_names, &name))
		by |= JOINED_COMM;
	__builtin_memset(&name, 0, sizeof name);
	bpf_probe_read_kernel_str(&name, sizeof name,
				  READ(task, mm, exe_file, f_path.dentry, d_name.name));
	if (bpf_map_lookup_elem(&wanted_names, &name))
		by |= JOINED_EXECUTABLE;
	__builtin_memset(&name, 0, sizeof name);
	bpf_loop(LONGEST_PATH, pass_byte, &words, 0);
	bpf_probe_read_user_str(&name, sizeof name, (void *)words.at + words.base);
	if (bpf_map_lookup_elem(&wanted_names, &name))
		by |= JOINED_ARGUMENT;
	return by;
}
