/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Journals and their transactions: how full they are and how long their lists, at each stage of a
 * commit. What jbd2 keeps is read without its locks, by copies.
 */
#ifndef BARO_JOURNALS_H
#define BARO_JOURNALS_H

#include "common.h"

static __always_inline u32 device_of(struct journal_s *journal)
{
	return BPF_CORE_READ(journal, j_fs_dev, bd_dev);
}

static __always_inline bool skipped(u32 dev)
{
	return target_dev && dev != target_dev;
}

static __noinline int sample(struct journal_s *journal, u32 dev, u32 reason)
{
	RECORD(baro_journal) * r;
	u64 now = bpf_ktime_get_ns();
	if (!BEGIN(r, JOURNAL, now, bpf_get_current_pid_tgid()))
		return 0;
	struct baro_journal *e = &r->event;
	__builtin_memset(&e->dev, 0, sizeof(*e) - sizeof(e->common));
	e->dev = dev;
	e->reason = reason;
	e->free_blocks = BPF_CORE_READ(journal, j_free);
	e->total_blocks = BPF_CORE_READ(journal, j_total_len);
	e->usable_blocks = BPF_CORE_READ(journal, j_last) - BPF_CORE_READ(journal, j_first);
	e->checkpoint_buffers = BPF_CORE_READ(journal, j_checkpoint_jh_count.count);
	e->reserved_credits = BPF_CORE_READ(journal, j_reserved_credits.counter);
	e->max_transaction_buffers = BPF_CORE_READ(journal, j_max_transaction_buffers);
	struct transaction_s *t = BPF_CORE_READ(journal, j_running_transaction);
	if (t) {
		e->has |= 1;
		e->running_tid = BPF_CORE_READ(t, t_tid);
		e->running_state = BPF_CORE_READ(t, t_state);
		e->running_outstanding = BPF_CORE_READ(t, t_outstanding_credits.counter);
		e->running_buffers = BPF_CORE_READ(t, t_nr_buffers);
		e->running_updates = BPF_CORE_READ(t, t_updates.counter);
		e->running_handles = BPF_CORE_READ(t, t_handle_count.counter);
	}
	t = BPF_CORE_READ(journal, j_committing_transaction);
	if (t) {
		e->has |= 2;
		e->committing_tid = BPF_CORE_READ(t, t_tid);
		e->committing_state = BPF_CORE_READ(t, t_state);
		e->committing_outstanding = BPF_CORE_READ(t, t_outstanding_credits.counter);
		e->committing_buffers = BPF_CORE_READ(t, t_nr_buffers);
	}
	t = BPF_CORE_READ(journal, j_checkpoint_transactions);
	if (t) {
		e->has |= 4;
		e->checkpoint_tid = BPF_CORE_READ(t, t_tid);
	}
	END(r);
	return 0;
}

/* Reasons of samples and stages of transactions. */
enum { AT_HANDLE, AT_START, AT_LOCKING, AT_FLUSHING, AT_LOGGING, AT_END, AT_DROP, AT_TAIL, AT_CHECKPOINT };

struct walk {
	u64 first;
	u64 here;
	u32 how;
	u32 left;
};
enum { BY_TRANSACTION, BY_CHECKPOINT, BY_LIST };

/* Copies the pointer first: an access through `walk` would be taken for one to relocate. */
static long step(u32 index, struct walk *walk)
{
	void *here = (void *)walk->here;
	if (!walk->left)
		return 1;
	walk->left--;
	if (walk->how == BY_TRANSACTION)
		here = BPF_CORE_READ((struct journal_head *)here, b_tnext);
	else if (walk->how == BY_CHECKPOINT)
		here = BPF_CORE_READ((struct journal_head *)here, b_cpnext);
	else
		here = BPF_CORE_READ((struct list_head *)here, next);
	walk->here = (u64)here;
	return !here || walk->here == walk->first;
}

/*
 * Counts a list without its lock, at most `most` of it: one that changes meanwhile gives a number
 * near the truth. Not static: so it is verified once and not with all that comes before a call.
 */
__noinline u32 length(u64 first, u32 how, u32 most)
{
	struct walk walk = { first, first, how, most };
	if (!first)
		return 0;
	bpf_loop(WALK, step, &walk, 0);
	return most - walk.left;
}

static __noinline int lists(struct journal_s *journal, struct transaction_s *t, u32 dev, u32 stage)
{
	u32 left = stage == AT_LOCKING || stage == AT_FLUSHING || stage == AT_DROP ? WALK_LOCKED : WALK;
	RECORD(baro_lists) * r;
	u64 now = bpf_ktime_get_ns();
	if (!BEGIN(r, LISTS, now, bpf_get_current_pid_tgid()))
		return 0;
	struct baro_lists *e = &r->event;
	e->dev = dev;
	e->tid = BPF_CORE_READ(t, t_tid);
	e->stage = stage;
	e->state = BPF_CORE_READ(t, t_state);
	e->handles = BPF_CORE_READ(t, t_handle_count.counter);
	e->outstanding = BPF_CORE_READ(t, t_outstanding_credits.counter);
	/* The kernel counts this list itself. */
	e->metadata = BPF_CORE_READ(t, t_nr_buffers);
#define COUNT(list, how) (count = length((u64)(list), how, left), left -= count, count)
	u32 count;
	e->reserved = COUNT(BPF_CORE_READ(t, t_reserved_list), BY_TRANSACTION);
	e->shadow = COUNT(BPF_CORE_READ(t, t_shadow_list), BY_TRANSACTION);
	e->forget = COUNT(BPF_CORE_READ(t, t_forget), BY_TRANSACTION);
	e->checkpoint = COUNT(BPF_CORE_READ(t, t_checkpoint_list), BY_CHECKPOINT);
	/* The head of this list is no element of it. */
	e->inodes = COUNT(__builtin_preserve_access_index(&t->t_inode_list), BY_LIST);
	if (e->inodes)
		e->inodes--;
	e->capped = !left;
#undef COUNT
	e->unused = 0;
	END(r);
	return 0;
}

static __always_inline int state(u64 *ctx, u32 stage)
{
	struct journal_s *journal = (void *)ctx[0];
	struct transaction_s *t = (void *)ctx[1];
	u32 dev = device_of(journal);
	if (skipped(dev))
		return 0;
	lists(journal, t, dev, stage);
	sample(journal, dev, stage);
	return 0;
}

#define STATE(name, stage) \
	SEC("raw_tp/jbd2_" #name) int baro_##name(u64 *ctx) { return state(ctx, stage); }
STATE(start_commit, AT_START)
STATE(commit_locking, AT_LOCKING)
STATE(commit_flushing, AT_FLUSHING)
STATE(commit_logging, AT_LOGGING)
STATE(end_commit, AT_END)
STATE(drop_transaction, AT_DROP)

static __always_inline int looked_at(u64 *ctx, u32 reason)
{
	struct journal_s *journal = (void *)ctx[0];
	u32 dev = device_of(journal);
	if (!skipped(dev))
		sample(journal, dev, reason);
	return 0;
}

SEC("raw_tp/jbd2_update_log_tail")
int baro_tail(u64 *ctx) { return looked_at(ctx, AT_TAIL); }

SEC("raw_tp/jbd2_checkpoint")
int baro_checkpoint(u64 *ctx) { return looked_at(ctx, AT_CHECKPOINT); }

#endif
