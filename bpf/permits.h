/* Whether the user may trace a task. No check of the kernel protects what eBPF observes, and a task may execute a
 * program that gains privileges after iostrata has asked for it. So its rules for ptrace are applied here, as it applies
 * them (__ptrace_may_access, kernel/ptrace.c): with the credentials of the user, not with those of iostrata's file.
 * Other security modules cannot be asked here. */
#pragma once
#include "numbers.h"

/* include/linux/sched/coredump.h: MMF_DUMPABLE_MASK, SUID_DUMP_USER */
#define DUMPABLE 3
#define DUMPABLE_BY_USER 1

/* Whom the user may not trace, by what they execute. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, FORBIDDEN);
	__type(key, struct joined_key);
	__type(value, struct forbidden);
} forbidden SEC(".maps");

/* Its owner has all capabilities in a user namespace, and in those below (cap_capable,
 * security/commoncap.c). */
static __always_inline bool is_owner(struct observer *user, struct user_namespace *of)
{
	struct user_namespace *above;

	for (int i = 0; i <= USER_NAMESPACES && of; i++) {
		above = READ(of, parent);
		if ((__u64)of == user->users)
			return 0;
		if ((__u64)above == user->users)
			return READ(of, owner.val) == user->uid;
		of = above;
	}
	return 0;
}

static __always_inline __u64 dumpable_by(struct mm_struct *memory)
{
	__u64 flags = 0, word;

	if (HAS(struct mm_struct, flags))
		flags = READ(memory, flags);
	else if (HAS(struct mm_struct___since_6_18, flags)) {
		word = WORD_OF(struct mm_struct___since_6_18, memory, flags);
		flags = number((void *)word); /* of another field for the verifier, a pointer */
	}
	return flags & DUMPABLE;
}

static __always_inline bool may_trace(struct task_struct *task, struct observer *user,
				      struct config *c)
{
	struct cred *its = READ(task, real_cred);
	struct mm_struct *memory = READ(task, mm);
	struct user_namespace *users = READ(its, user_ns);
	bool is_own_namespace;
	__u64 permitted;

	if (!its || !memory)
		return 0;
	is_own_namespace = is_owner(user, users);
	if (!is_own_namespace &&
	    (READ(its, uid.val) != user->uid || READ(its, euid.val) != user->uid ||
	     READ(its, suid.val) != user->uid || READ(its, gid.val) != user->gid ||
	     READ(its, egid.val) != user->gid || READ(its, sgid.val) != user->gid))
		return 0;
	if (dumpable_by(memory) != DUMPABLE_BY_USER && !is_owner(user, READ(memory, user_ns)))
		return 0;
	/* cap_ptrace_access_check, security/commoncap.c */
	if ((__u64)users != user->users)
		return is_own_namespace;
	permitted = word_at(ADDRESS_OF(struct cred, its, cap_permitted));
	return !(number((void *)permitted) & ~c->capabilities);
}

/* Whether the task must not be observed; it is noted then. */
APART int is_forbidden(__u64 address, __u32 was_observed)
{
	struct task_struct *task = (struct task_struct *)address;
	struct observer *user = observer();
	struct config *c = configuration();
	struct joined_key key = {};
	struct forbidden program = { .was_observed = was_observed };
	struct task_struct *leader;
	long error;

	if (!user || !c || !c->asks || may_trace(task, user, c))
		return 0;
	leader = READ(task, group_leader);
	key.started = READ(leader, start_time);
	key.numbers = process_of(task);
	bpf_probe_read_kernel(program.name, sizeof program.name, leader->comm);
	error = bpf_map_update_elem(&forbidden, &key, &program, BPF_NOEXIST);
	if (error && error != -17 /* EEXIST */ && was_observed)
		__sync_fetch_and_add(&user->raised, 1);
	return 1;
}
