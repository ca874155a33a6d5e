/* Reports of a program to the outside: writes to standard output other than files, and sends on
 * sockets. Not sent one by one: it only matters whether a write or a sync came before or after a
 * report. So a report is sent if the thread has changed something since the last one; others are
 * sent with the thread's next step, and from time to time, since another thread may have changed
 * something. */
#pragma once
#include "numbers.h"

#define REPORTS_APART_NS 100000000ULL

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
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	}
	state->reports.count = 0;
	return 0;
}

static __always_inline bool is_report(struct task_state *state, __s64 result)
{
	__u32 type = state->mode & S_IFMT;

	if (result <= 0)
		return 0;
	if (state->call & CALL_SENDS)
		return 1;
	return (state->call & CALL_WRITES) && type != S_IFREG &&
	       (type == S_IFSOCK || state->argument[0] == 1);
}

APART int report(struct task_state *state, __u64 now)
{
	struct reports *reports;
	__u64 id;

	if (!state)
		return 0;
	reports = &state->reports;
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
