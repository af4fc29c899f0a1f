// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Programs at tracepoints that keep in the kernel what is short and frequent, and write a record of
 * what is long or rare. docs/trace-probes.md says what each reads and costs.
 *
 * Tracepoints of the scheduler and of system calls are taken with their types (tp_btf), since the
 * stack and the registers of a task are had only so. Those of jbd2 and ext4 are taken without
 * (raw_tp): these may be modules, whose types the loader does not hand to the verifier.
 *
 * `cargo xtask probes` builds src/probes.bpf.o of this.
 */
#include "kernel.h"
#include "records.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set by user space before the programs are loaded. */
const volatile u32 target_dev = 0; /* only this file system; 0: all */
const volatile u32 own_tgid = 0; /* whose sleeps nobody wants to know */
const volatile u32 slot_mask = 0xffff; /* slots - 1 */
const volatile u32 calls_on = 0;
const volatile u64 min_sleep_ns = 1000000;
const volatile u64 min_runnable_ns = 5000000;
const volatile u64 min_handle_ns = 100000;
const volatile u64 min_held_ns = 1000000;
const volatile u64 min_busy_ns = 50000000;
const volatile u64 sample_ns = 10000000;

#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_DEAD 0x80
#define TASK_NOLOAD 0x400
#define PF_KTHREAD 0x00200000
#define STACK_BYTES 16384
/* Nodes of lists that one record counts; the lower where the kernel holds a lock. */
#define WALK 20000
#define WALK_LOCKED 2000

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} records SEC(".maps");

/*
 * What is known of a task, at its number modulo the size. An array and no hash: a lookup is two
 * instructions, nothing is allocated under the scheduler's locks, and two tasks that meet in a slot
 * are rare and counted.
 */
struct slot {
	u32 pid;
	u8 state; /* while off the processor: 0 runnable, 2 D */
	u8 waker_context;
	u8 left; /* has been off the processor since start_ns */
	u8 unused;
	u64 off_ns; /* since when off the processor in such a state; else 0 */
	u64 woken_ns;
	u64 start_ns; /* since when waiting for a handle */
	u64 granted_ns; /* since when it has one */
	s32 waker_pid;
	u32 unused2;
	char waker_comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, struct slot);
} slots SEC(".maps");

/* The system call that a task is in: a map of its own, of one entry where nobody asks for calls. */
struct call_slot {
	u32 pid;
	u32 slept;
	u64 begin_ns;
	u64 wait_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct call_slot);
} calls SEC(".maps");

/* Waits for handles, of each device; the last for devices that found no place. */
#define DEVICES 8
struct waits {
	u64 count;
	u64 unpaired;
	u64 sum_ns;
	u64 max_ns;
	u64 buckets[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, DEVICES + 1);
	__type(key, u32);
	__type(value, struct waits);
} waits SEC(".maps");

/* Which device each of these is, and when its journal is to be looked at again. */
struct device {
	u32 dev;
	u32 unused;
	u64 next_sample_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DEVICES + 1);
	__type(key, u32);
	__type(value, struct device);
} devices SEC(".maps");

/* Records that found no room, by kind; last: tasks whose slot another took. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KINDS + 1);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

static __always_inline void lose(u32 kind)
{
	u64 *count = bpf_map_lookup_elem(&lost, &kind);
	if (count)
		(*count)++;
}

#define RECORD(kind) struct { u64 time_ns; struct kind event; }

/* Room for a record, its common fields filled in. A macro, as each has another size. */
#define BEGIN(record, number, now, of_pid)                                                     \
	({                                                                                     \
		record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);                    \
		if (!record) {                                                                 \
			lose(number);                                                          \
		} else {                                                                       \
			record->time_ns = now;                                                 \
			record->event.common.type = FIRST_ID + number;                         \
			record->event.common.flags = 0;                                        \
			record->event.common.preempt_count = 0;                                \
			record->event.common.pid = of_pid;                                     \
		}                                                                              \
		record;                                                                        \
	})
#define END(record) bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP)

/* The slot of a task if it has one. */
static __always_inline struct slot *slot_of(u32 pid)
{
	u32 key = pid & slot_mask;
	struct slot *s = bpf_map_lookup_elem(&slots, &key);
	return s && s->pid == pid ? s : 0;
}

/* The slot of a task, taken from another if need be. */
static __always_inline struct slot *take_slot(u32 pid)
{
	u32 key = pid & slot_mask;
	struct slot *s = bpf_map_lookup_elem(&slots, &key);
	if (!s || s->pid == pid)
		return s;
	if (s->off_ns | s->start_ns | s->granted_ns)
		lose(KINDS);
	s->off_ns = s->woken_ns = s->start_ns = s->granted_ns = 0;
	s->pid = pid;
	return s;
}

/* ---- sleeps ---- */

static __always_inline s64 call_of(struct task_struct *task, u64 *args)
{
	args[0] = args[1] = args[2] = 0;
	if (task->flags & PF_KTHREAD)
		return -1;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (bpf_core_field_exists(struct pt_regs___x86, orig_ax)) {
		struct pt_regs___x86 *x86 = (void *)regs;
		/* Negative where it was stopped in its own code. */
		s64 call = x86->orig_ax;
		if (call < 0)
			return -1;
		args[0] = x86->di;
		args[1] = x86->si;
		args[2] = x86->dx;
		return call;
	}
	if (bpf_core_field_exists(struct pt_regs___arm64, syscallno)) {
		struct pt_regs___arm64 *arm = (void *)regs;
		s32 call = arm->syscallno;
		if (call < 0)
			return -1;
		args[0] = arm->orig_x0;
		args[1] = arm->regs[1];
		args[2] = arm->regs[2];
		return call;
	}
	return -1;
}

static __always_inline void slept(struct task_struct *next, struct slot *s, u64 begin_ns, u64 now)
{
	RECORD(baro_sleep) * r;
	if (!BEGIN(r, SLEEP, now, next->pid))
		return;
	struct baro_sleep *e = &r->event;
	e->pid = next->pid;
	e->tgid = next->tgid;
	e->begin_ns = begin_ns;
	e->woken_ns = s->woken_ns;
	bpf_probe_read_kernel(e->comm, sizeof(e->comm), next->comm);
	if (s->woken_ns) {
		__builtin_memcpy(e->waker_comm, s->waker_comm, sizeof(e->waker_comm));
		e->waker_pid = s->waker_pid;
		e->waker_context = s->waker_context;
	} else {
		__builtin_memset(e->waker_comm, 0, sizeof(e->waker_comm));
		e->waker_pid = 0;
		e->waker_context = 0;
	}
	e->state = s->state;
	e->cpu = bpf_get_smp_processor_id();
	e->call = call_of(next, e->args);
	e->write_calls = 0;
	if (bpf_core_field_exists(struct task_struct, ioac.syscw))
		e->write_calls = next->ioac.syscw;
	e->frames = 0;
	/* It takes some microseconds, and tells nothing of who was stopped in its own code. */
	if (e->state || e->call >= 0) {
		long bytes = bpf_get_task_stack(next, e->stack, sizeof(e->stack), 0);
		e->frames = bytes > 0 ? (u64)bytes / 8 : 0;
	} else {
		__builtin_memset(e->stack, 0, sizeof(e->stack));
	}
	END(r);
}

static __always_inline void waited_in_call(u32 pid, u64 wait_ns, bool told)
{
	u32 key = pid & slot_mask;
	struct call_slot *c = bpf_map_lookup_elem(&calls, &key);
	if (c && c->pid == pid && c->begin_ns) {
		c->wait_ns += wait_ns;
		c->slept |= told;
	}
}

/* Arguments: bool preempt, prev, next, unsigned int prev_state (the last from 5.18 on). */
SEC("tp_btf/sched_switch")
int baro_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 prev_state = ctx[3];
	u32 prev_pid = prev->pid, next_pid = next->pid;
	struct slot *s;
	u64 now = 0;
	if (prev_pid) {
		bool runnable = (ctx[0] & 1) || !prev_state;
		if (runnable || ((prev_state & TASK_UNINTERRUPTIBLE) && !(prev_state & TASK_NOLOAD))) {
			s = take_slot(prev_pid);
			if (s) {
				now = bpf_ktime_get_ns();
				s->left = 1;
				s->state = runnable ? 0 : TASK_UNINTERRUPTIBLE;
				s->woken_ns = 0;
				s->off_ns = now;
			}
		} else {
			s = slot_of(prev_pid);
			if (s) {
				s->left = 1;
				s->woken_ns = 0;
				if (prev_state & TASK_DEAD)
					s->start_ns = s->granted_ns = 0;
			}
		}
	}
	if (!next_pid)
		return 0;
	s = slot_of(next_pid);
	if (!s)
		return 0;
	/* Woken from a sleep that is no D: from then on it waits for a processor. */
	u64 begin_ns = s->off_ns;
	u64 limit_ns = min_sleep_ns;
	if (!begin_ns) {
		begin_ns = s->woken_ns;
		s->state = 0;
	}
	if (!begin_ns)
		return 0;
	if (!now)
		now = bpf_ktime_get_ns();
	if (!s->state)
		limit_ns = min_runnable_ns;
	/* Another processor may have woken it a moment before it was switched out. */
	if (s->woken_ns < begin_ns)
		s->woken_ns = 0;
	u64 wait_ns = now - begin_ns;
	bool told = wait_ns >= limit_ns && next->tgid != own_tgid;
	if (told)
		slept(next, s, begin_ns, now);
	if (calls_on)
		waited_in_call(next_pid, wait_ns, told);
	s->off_ns = s->woken_ns = 0;
	return 0;
}

/*
 * 0 a task, 1 a softirq, 2 a hardirq, 3 one of these two. The count that tells them is a variable of
 * the processor on x86, not to be had without its symbol; but interrupts have a stack of their own
 * there, and the arguments of a tracepoint lie on the stack.
 */
static __always_inline u8 context(struct task_struct *current, u64 *ctx, u64 *scratch)
{
	if (bpf_core_field_exists(struct thread_info, preempt_count)) {
		int count = current->thread_info.preempt_count;
		return count & 0xf0000 ? 2 : count & 0x100 ? 1 : 0;
	}
	*(volatile u64 *)scratch = (u64)ctx;
	u64 place = *(volatile u64 *)scratch;
	return place - (u64)current->stack < STACK_BYTES ? 0 : 3;
}

/* Argument: the task that is being woken. */
SEC("tp_btf/sched_waking")
int baro_waking(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 pid = task->pid;
	if (!(task->__state & TASK_UNINTERRUPTIBLE)) {
		struct slot *s = take_slot(pid);
		if (s && !s->off_ns) {
			s->woken_ns = bpf_ktime_get_ns();
			s->waker_pid = -1;
			s->waker_comm[0] = 0;
		}
		return 0;
	}
	struct slot *s = slot_of(pid);
	if (!s || !s->off_ns)
		return 0;
	struct task_struct *waker = bpf_get_current_task_btf();
	s->waker_context = context(waker, ctx, &s->woken_ns);
	s->woken_ns = bpf_ktime_get_ns();
	s->waker_pid = waker->pid;
	bpf_get_current_comm(s->waker_comm, sizeof(s->waker_comm));
	/* A task that begins with "ksoftirq" has no other work. */
	if (!s->waker_context && *(u64 *)s->waker_comm == 0x71726974666f736bULL)
		s->waker_context = 1;
	return 0;
}

/* ---- system calls, if asked for: they make every call go the slow way ---- */

/* Arguments: registers, number. */
SEC("tp_btf/sys_enter")
int baro_enter(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 pid = task->pid, key = pid & slot_mask;
	struct call_slot *c = bpf_map_lookup_elem(&calls, &key);
	if (!c)
		return 0;
	c->pid = pid;
	c->slept = 0;
	c->wait_ns = 0;
	c->begin_ns = bpf_ktime_get_ns();
	return 0;
}

/* Arguments: registers, what it returns. */
SEC("tp_btf/sys_exit")
int baro_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 pid = task->pid, key = pid & slot_mask;
	struct call_slot *c = bpf_map_lookup_elem(&calls, &key);
	if (!c || c->pid != pid || !c->begin_ns)
		return 0;
	u64 now = bpf_ktime_get_ns(), begin_ns = c->begin_ns;
	c->begin_ns = 0;
	if (!c->slept && now - begin_ns - c->wait_ns < min_busy_ns)
		return 0;
	if (task->tgid == own_tgid)
		return 0;
	RECORD(baro_call) * r;
	if (!BEGIN(r, CALL, now, pid))
		return 0;
	struct baro_call *e = &r->event;
	e->begin_ns = begin_ns;
	e->wait_ns = c->wait_ns;
	e->ret = ctx[1];
	e->number = -1;
	__builtin_memset(e->args, 0, sizeof(e->args));
	if (bpf_core_field_exists(struct pt_regs___x86, orig_ax)) {
		struct pt_regs___x86 *x86 = (void *)ctx[0];
		e->number = x86->orig_ax;
		e->args[0] = x86->di;
		e->args[1] = x86->si;
		e->args[2] = x86->dx;
		e->args[3] = x86->r10;
		e->args[4] = x86->r8;
		e->args[5] = x86->r9;
	} else if (bpf_core_field_exists(struct pt_regs___arm64, syscallno)) {
		struct pt_regs___arm64 *arm = (void *)ctx[0];
		e->number = arm->syscallno;
		e->args[0] = arm->orig_x0;
		e->args[1] = arm->regs[1];
		e->args[2] = arm->regs[2];
		e->args[3] = arm->regs[3];
		e->args[4] = arm->regs[4];
		e->args[5] = arm->regs[5];
	}
	END(r);
	return 0;
}

/* ---- journals ---- */

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

/* ---- handles ---- */

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
