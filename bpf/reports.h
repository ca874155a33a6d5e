/* Reports of a program to the outside: writes to standard output other than files, and answers on
 * sockets. Not sent one by one: it only matters whether a write or a sync came before or after a
 * report. So a report is sent if the thread has changed something since the last one; others are
 * sent with the thread's next step, and from time to time, since another thread may have changed
 * something. */
#pragma once
#include "numbers.h"

#define REPORTS_APART_NS 100000000ULL

/* Who began on a socket. A client's requests promise nothing about what it has received: answers are what is sent
 * on an accepted connection, and to an address by a socket that was written to first. */
#define PEER_BEGAN 1
#define PROGRAM_BEGAN 2
#define ACCEPTED 3

/* By the inode of the socket: sockfs gives each number once (get_next_ino, fs/inode.c). A socket without an entry is
 * taken for a client's. */
struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u8);
} sockets SEC(".maps");

static __always_inline __u64 inode_of_socket(__u32 fd)
{
	return READ(number_of_file(fd), f_inode, i_ino);
}

/* Something came from a socket. */
APART int hear(struct task_state *state, __u32 fd, __u64 now)
{
	__u64 socket = inode_of_socket(fd);
	__u8 who = state && (state->call & CALL_ACCEPTS) ? ACCEPTED : PEER_BEGAN, *known;

	if (!state)
		return 0;
	/* An answer to the program is no request. */
	known = bpf_map_lookup_elem(&sockets, &socket);
	if (who == PEER_BEGAN && (!known || *known != PROGRAM_BEGAN))
		state->reports.asked_ns = now;
	return bpf_map_update_elem(&sockets, &socket, &who, who == ACCEPTED ? BPF_ANY : BPF_NOEXIST);
}

/* Whether what was sent on the socket answers its peer. */
APART int answers_peer(struct task_state *state)
{
	__u8 begins = PROGRAM_BEGAN, *who;
	__u64 socket;

	if (!state)
		return 0;
	socket = inode_of_socket(state->argument[0]);
	who = bpf_map_lookup_elem(&sockets, &socket);
	if (!who) {
		bpf_map_update_elem(&sockets, &socket, &begins, BPF_NOEXIST);
		return 0;
	}
	return *who == ACCEPTED ||
	       (*who == PEER_BEGAN && (state->call & CALL_ADDRESSED) && state->argument[4]);
}

/* `id` is the process and thread that reported. */
APART int end_reports(struct task_state *state, __u64 id)
{
	struct report_event *event;

	if (!state || !state->reports.count)
		return 0;
	event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	if (!event) {
		lose(LOSS_HISTORY);
	} else {
		event->kind = EVENT_REPORT;
		event->nr = state->reports.nr;
		event->process = id >> 32;
		event->thread = id;
		event->started_ns = state->reports.started_ns;
		event->ended_ns = state->reports.ended_ns;
		event->count = state->reports.count;
		event->heard_ns = state->reports.heard_ns;
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	}
	state->reports.count = 0;
	return 0;
}

static __always_inline bool uses_socket(struct task_state *state)
{
	return (state->mode & S_IFMT) == S_IFSOCK || (state->call & (CALL_SENDS | CALL_HEARS | CALL_ACCEPTS));
}

APART int report(struct task_state *state, __u64 heard_ns, __u64 now)
{
	struct reports *reports;
	__u64 id;

	if (!state)
		return 0;
	reports = &state->reports;
	/* Earlier ones came before what has changed, or went elsewhere. */
	if (reports->news || state->run.count ||
	    (reports->heard_ns == NOT_KNOWN) != (heard_ns == NOT_KNOWN))
		end_reports(state, current_numbers());
	reports->heard_ns = heard_ns;
	if (!reports->count) {
		reports->nr = state->nr;
		reports->started_ns = state->entered_ns;
	}
	reports->count++;
	reports->ended_ns = now;
	if (!reports->news && !state->run.count && now - reports->sent_ns < REPORTS_APART_NS)
		return 0;
	reports->news = 0;
	reports->sent_ns = now;
	id = current_numbers();
	end_run(&state->run, id);
	return end_reports(state, id);
}

/* A call has ended whose file is not a regular one. */
static __always_inline void listen_to(struct task_state *state, __s64 result, __u64 now)
{
	__u32 call = state->call;

	if (uses_socket(state) && (call & CALL_ACCEPTS)) {
		if (result >= 0)
			hear(state, result, now);
	} else if (result <= 0) {
		return;
	} else if (!uses_socket(state)) {
		if ((call & CALL_WRITES) && state->argument[0] == 1)
			report(state, NOT_KNOWN, now);
	} else if (call & (CALL_WRITES | CALL_SENDS)) {
		if (answers_peer(state))
			report(state, ANEW(state->reports.asked_ns), now);
		else if (state->argument[0] == 1)
			report(state, NOT_KNOWN, now);
	} else if (call & (CALL_READS | CALL_HEARS)) {
		hear(state, state->argument[0], now);
	}
}
