/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Handles: how long they were waited for and how long they are open. The most frequent of all: what
 * is done here for each handle is what the probes cost.
 */
#ifndef BARO_HANDLES_H
#define BARO_HANDLES_H

#include "common.h"
#include "journals.h"

/* At each of ext4_journal_start, _sb, _inode, _reserved: before any wait. Needs no argument. */
SEC("raw_tp/ext4_journal_start")
int baro_journal_start(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	/* Inside of a handle: it gets no other, and no jbd2_handle_start follows. */
	if (task->journal_info)
		return 0;
	struct slot *s = take_slot(task->pid);
	if (s) {
		s->left = 0;
		s->start_ns = bpf_ktime_get_ns();
	}
	return 0;
}

static __always_inline u32 log2(u64 value)
{
	u32 bits = 0;
	if (value >> 32) { bits = 32; value >>= 32; }
	if (value >> 16) { bits += 16; value >>= 16; }
	if (value >> 8) { bits += 8; value >>= 8; }
	if (value >> 4) { bits += 4; value >>= 4; }
	if (value >> 2) { bits += 2; value >>= 2; }
	return bits + (value >> 1);
}

static __always_inline u32 place_of(u32 dev)
{
#pragma unroll
	for (u32 place = 0; place < DEVICES; place++) {
		u32 key = place;
		struct device *d = bpf_map_lookup_elem(&devices, &key);
		if (!d)
			return DEVICES;
		if (d->dev == dev)
			return place;
		if (!d->dev && (!__sync_val_compare_and_swap(&d->dev, 0, dev) || d->dev == dev))
			return place;
	}
	return DEVICES;
}

/* Arguments: dev, tid, type, line_no, requested_blocks. */
SEC("raw_tp/jbd2_handle_start")
int baro_handle_start(u64 *ctx)
{
	u32 dev = ctx[0];
	if (skipped(dev))
		return 0;
	struct task_struct *task = bpf_get_current_task_btf();
	u32 pid = task->pid;
	struct slot *s = take_slot(pid);
	if (!s)
		return 0;
	/*
	 * Who has not left the processor has not waited: so most handles need no clock here, which
	 * costs as much as the rest of this program. They are counted in the first class.
	 */
	u64 start_ns = s->start_ns;
	u64 now = start_ns && !s->left ? start_ns : bpf_ktime_get_ns();
	s->start_ns = 0;
	s->granted_ns = now;
	u32 place = place_of(dev);
	struct waits *w = bpf_map_lookup_elem(&waits, &place);
	u64 wait_ns = start_ns ? now - start_ns : 0;
	if (w) {
		w->count++;
		if (start_ns) {
			u32 bucket = log2(wait_ns);
			if (bucket >= BUCKETS)
				bucket = BUCKETS - 1;
			w->buckets[bucket]++;
			w->sum_ns += wait_ns;
			if (wait_ns > w->max_ns)
				w->max_ns = wait_ns;
		} else {
			w->unpaired++;
		}
	}
	struct device *d = bpf_map_lookup_elem(&devices, &place);
	if (d && now >= d->next_sample_ns) {
		d->next_sample_ns = now + sample_ns;
		struct jbd2_journal_handle *handle = task->journal_info;
		struct journal_s *journal = BPF_CORE_READ(handle, h_transaction, t_journal);
		if (journal)
			sample(journal, dev, AT_HANDLE);
	}
	if (wait_ns < min_handle_ns || !start_ns)
		return 0;
	RECORD(baro_handle) * r;
	if (!BEGIN(r, HANDLE, now, pid))
		return 0;
	struct baro_handle *e = &r->event;
	e->dev = dev;
	e->tid = ctx[1];
	e->kind = ctx[2];
	e->line = ctx[3];
	e->begin_ns = start_ns;
	e->requested_blocks = ctx[4];
	e->unused = 0;
	END(r);
	return 0;
}

/* Arguments: dev, tid, type, line_no, interval, sync, requested_blocks, dirtied_blocks. */
SEC("raw_tp/jbd2_handle_stats")
int baro_handle_stats(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 pid = task->pid;
	struct slot *s = slot_of(pid);
	if (!s || !s->granted_ns)
		return 0;
	u64 now = bpf_ktime_get_ns(), begin_ns = s->granted_ns;
	u32 sync = ctx[5];
	s->granted_ns = 0;
	if (now - begin_ns < min_held_ns && !sync)
		return 0;
	RECORD(baro_held) * r;
	if (!BEGIN(r, HELD, now, pid))
		return 0;
	struct baro_held *e = &r->event;
	e->dev = ctx[0];
	e->tid = ctx[1];
	e->kind = ctx[2];
	e->line = ctx[3];
	e->begin_ns = begin_ns;
	e->requested_blocks = ctx[6];
	e->dirtied_blocks = ctx[7];
	e->sync = sync;
	e->unused = 0;
	END(r);
	return 0;
}

#endif
