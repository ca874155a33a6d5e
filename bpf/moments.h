/* When calls ended and requests were issued. crates/core/src/trace/timeline defines moments and
 * how they fold into a timeline. A task adds to its own sums, which are merged when the moment is
 * over: a call costs no lookup. */
#pragma once
#include "lives.h"
#include "log2.h"
#include "read.h"

#define FIRST_POWER 17
#define FIRST_MOMENTS_POWER 12
#define PER_DOUBLING (1 << (FIRST_MOMENTS_POWER - 1))

/* The purpose of each call (enum purpose), by number. */
const volatile __u8 PURPOSE_OF[SOURCE_BASE] = {};

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, MOMENTS); /* resized */
	__type(key, __u32);
	__type(value, struct moment);
} moments SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 131072);
	__type(key, struct request_moment_key);
	__type(value, struct request_moment);
} request_moments SEC(".maps");

/* Not on the stack, which has no room for them: see KEYS in maps.h. */
static const volatile struct request_moment NO_REQUESTS = {};

static __always_inline __u32 moment_of(__u64 since_start_ns)
{
	__u32 power = log2_of(since_start_ns), doublings, moment;

	if (power < FIRST_POWER + FIRST_MOMENTS_POWER)
		return since_start_ns >> FIRST_POWER;
	doublings = power - FIRST_POWER - FIRST_MOMENTS_POWER;
	moment = (1 << FIRST_MOMENTS_POWER) + doublings * PER_DOUBLING +
		 (__u32)(since_start_ns >> (FIRST_POWER + 1 + doublings)) - PER_DOUBLING;
	return moment < MOMENTS ? moment : MOMENTS - 1;
}

/* The length of the moment that contains the time: a power of two, and its start is a multiple of
 * it. */
static __always_inline __u64 moment_ns(__u64 since_start_ns)
{
	__u32 power = log2_of(since_start_ns);

	if (power < FIRST_POWER + FIRST_MOMENTS_POWER)
		return 1ULL << FIRST_POWER;
	return 1ULL << (power + 1 - FIRST_MOMENTS_POWER);
}

APART int merge_moment(struct task_state *state)
{
	struct moment *to;
	__u32 at;

	if (!state)
		return 0;
	at = state->moment;
	to = bpf_map_lookup_elem(&moments, &at);
	for (int i = 0; i < PURPOSES && to; i++) {
		struct moment_sum *sum = &state->moment_sums[i];

		if (!sum->count)
			continue;
		__sync_fetch_and_add(&to->of[i].count, sum->count);
		__sync_fetch_and_add(&to->of[i].bytes, sum->bytes);
		__sync_fetch_and_add(&to->of[i].time_ns, sum->time_ns);
	}
	__builtin_memset(state->moment_sums, 0, sizeof state->moment_sums);
	return 0;
}

/* A call that ends before the start of the run is in no moment. */
APART int begin_moment(struct task_state *state, __u64 now)
{
	struct config *c = configuration();
	__u64 since, length;

	if (!state || !c)
		return 0;
	merge_moment(state);
	if (!c->started_ns || now < c->started_ns) {
		state->moment = MOMENTS;
		state->moment_ends_ns = now + 1;
		return 0;
	}
	since = now - c->started_ns;
	length = moment_ns(since);
	state->moment = moment_of(since);
	state->moment_ends_ns = c->started_ns + (since & ~(length - 1)) + length;
	return 0;
}

/* A read from a pipe waits for a writer, not for storage. */
static __always_inline bool is_stored(__u32 mode)
{
	return (mode & S_IFMT) == S_IFREG || (mode & S_IFMT) == S_IFBLK;
}

static __always_inline __u32 purpose_of(__u32 nr, __u32 mode)
{
	__u32 purpose = nr < SOURCE_BASE ? PURPOSE_OF[nr] : 0;

	if ((purpose == PURPOSE_READ || purpose == PURPOSE_WRITE) && !is_stored(mode))
		return 0;
	return purpose;
}

/* The call that ends. */
static __always_inline void add_to_moment(struct task_state *state, __u64 took_ns, __u64 now)
{
	struct moment_sum *sum;
	__s64 result;
	__u32 purpose;

	state->purpose = purpose_of(ANEW(state->nr), ANEW(state->mode));
	purpose = ANEW(state->purpose);
	if (!purpose)
		return;
	if (now >= state->moment_ends_ns)
		begin_moment(state, now);
	sum = &state->moment_sums[(purpose - 1) & (PURPOSES - 1)];
	sum->count++;
	sum->time_ns += took_ns;
	result = ANEW(state->result);
	if (result > 0 && (purpose == PURPOSE_READ || purpose == PURPOSE_WRITE))
		sum->bytes += result;
}

/* An io_uring operation, which ends outside the context of its task. */
static __always_inline void operation_at(__u32 purpose, __s64 result, __u64 took_ns, __u64 now)
{
	struct config *c = configuration();
	struct moment *to;
	__u32 at;

	if (!purpose || !c || !c->started_ns || now < c->started_ns)
		return;
	at = moment_of(now - c->started_ns);
	to = bpf_map_lookup_elem(&moments, &at);
	if (!to)
		return;
	purpose = (purpose - 1) & (PURPOSES - 1);
	__sync_fetch_and_add(&to->of[purpose].count, 1);
	__sync_fetch_and_add(&to->of[purpose].time_ns, took_ns);
	if (result > 0 && purpose < PURPOSE_SYNC - 1)
		__sync_fetch_and_add(&to->of[purpose].bytes, result);
}

/* A request that may belong to the tree. */
static __always_inline void request_at(struct config *c, struct block_key *of, __u64 requests,
				       __u64 bytes, __u64 now)
{
	struct request_moment_key key = {};
	struct request_moment *to;
	__u32 cause = of->cause & (CAUSES - 1);

	if (c->phase || !c->started_ns || now < c->started_ns)
		return;
	if (!is_for_tree(of))
		return;
	key.moment = moment_of(now - c->started_ns);
	key.disk = of->disk;
	to = bpf_map_lookup_elem(&request_moments, &key);
	if (!to) {
		bpf_map_update_elem(&request_moments, &key, (void *)&NO_REQUESTS, BPF_NOEXIST);
		to = bpf_map_lookup_elem(&request_moments, &key);
		if (!to) {
			lose(LOSS_MOMENTS);
			return;
		}
	}
	__sync_fetch_and_add(&to->count[cause], requests);
	__sync_fetch_and_add(&to->bytes[cause], bytes);
}
