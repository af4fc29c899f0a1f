/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Tasks that are off the processor: where they sleep, in which call, and who wakes them.
 *
 * Sleeps of one stay in the kernel are told apart from those of the next without looking at calls:
 * a task that was off the processor is noted (rseq) when it goes on in its own code.
 */
#ifndef BARO_SLEEPS_H
#define BARO_SLEEPS_H

#include "common.h"

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

/*
 * When this stay in the kernel began to be off the processor: all that has the same value was in one call,
 * or one page fault. 0 where nothing tells that a task was in its own code in between.
 */
static __always_inline u64 entry_of(struct task_struct *task, struct slot *s)
{
	if (!returns_on || !bpf_core_field_exists(struct task_struct, rseq_event_mask))
		return 0;
	return task->rseq ? s->entry_ns : 0;
}

/* The nearest group that may have only so much of the processors. */
static __always_inline void quota_of(struct task_struct *task, struct baro_sleep *e)
{
	e->quota_ns = e->period_ns = e->throttled_ns = 0;
	if (!bpf_core_field_exists(struct task_struct, sched_task_group) ||
	    !bpf_core_field_exists(struct task_group, cfs_bandwidth))
		return;
	struct task_group *group = task->sched_task_group;
	for (int depth = 0; depth < 4; depth++) {
		if (!group)
			return;
		u64 quota_ns = group->cfs_bandwidth.quota;
		if (quota_ns != ~0ULL) {
			e->quota_ns = quota_ns;
			e->period_ns = group->cfs_bandwidth.period;
			e->throttled_ns = group->cfs_bandwidth.throttled_time;
			return;
		}
		group = group->parent;
	}
}

/* Of a task that came to a processor without being seen to, nobody is `prev`, and it has another stack by now. */
static __always_inline void slept(struct task_struct *prev, struct task_struct *next, struct slot *s,
				  u64 begin_ns, u64 now, s64 call, u64 *args, u32 by)
{
	RECORD(baro_sleep) *r = bpf_map_lookup_elem(&sleeps, &by);
	if (!r)
		return;
	r->time_ns = now;
	struct baro_sleep *e = &r->event;
	e->common.type = FIRST_ID + SLEEP;
	e->common.flags = 0;
	e->common.preempt_count = 0;
	e->common.pid = next->pid;
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
	e->call = call;
	e->args[0] = args[0];
	e->args[1] = args[1];
	e->args[2] = args[2];
	e->write_calls = e->read_calls = 0;
	if (bpf_core_field_exists(struct task_struct, ioac.syscw)) {
		e->write_calls = next->ioac.syscw;
		e->read_calls = next->ioac.syscr;
	}
	e->entry_ns = entry_of(next, s);
	e->run_ns = next->se.sum_exec_runtime;
	quota_of(next, e);
	e->before_pid = 0;
	e->frames_max = FRAMES;
	if (prev) {
		e->before_pid = prev->pid;
		bpf_probe_read_kernel(e->before_comm, sizeof(e->before_comm), prev->comm);
	} else {
		__builtin_memset(e->before_comm, 0, sizeof(e->before_comm));
	}
	u64 bytes = 0;
	/* It takes some microseconds, and tells nothing of who was stopped in its own code. */
	if (prev && (e->state || e->call >= 0)) {
		long told = bpf_get_task_stack(next, e->stack, sizeof(e->stack), 0);
		/* Folded into one test of a copy, it would tell verifiers before Linux 6.11 nothing of this number. */
		if (told > 0) {
			asm volatile("" : "+r"(told));
			if (told <= sizeof(e->stack))
				bytes = told;
		}
	}
	e->frames = bytes / 8;
	/* What is behind the functions that count is not written. */
	if (bpf_ringbuf_output(&records, r, sizeof(*r) - sizeof(e->stack) + bytes, BPF_RB_NO_WAKEUP))
		lose(SLEEP);
}

/* From which length on a sleep that signals end is told: shorter in calls that wait for storage. */
static __always_inline u64 limit_of(s64 call)
{
	if (call >= 0 && call < 512 && (sleep_calls[(u64)call >> 6 & 7] >> (call & 63) & 1))
		return min_call_sleep_ns;
	return min_any_sleep_ns;
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

/* Tells of a time off the processor if it was long enough, and forgets it. */
static __always_inline void came(struct task_struct *prev, struct task_struct *next, struct slot *s,
				 u64 begin_ns, u64 now, u32 by)
{
	/* Another processor may have woken it a moment before it was switched out. */
	if (s->woken_ns < begin_ns)
		s->woken_ns = 0;
	u64 wait_ns = now - begin_ns;
	bool told = 0;
	if (wait_ns >= min_sleep_ns && next->tgid != own_tgid) {
		u64 args[3];
		u64 ready_ns = s->state ? s->woken_ns ? now - s->woken_ns : 0 : wait_ns;
		if (s->state == TASK_UNINTERRUPTIBLE || ready_ns >= min_runnable_ns) {
			told = 1;
			slept(prev, next, s, begin_ns, now, call_of(next, args), args, by);
		} else if (s->state && wait_ns >= min_call_sleep_ns) {
			s64 call = call_of(next, args);
			if (wait_ns >= limit_of(call)) {
				told = 1;
				slept(prev, next, s, begin_ns, now, call, args, by);
			}
		}
	}
	if (calls_on)
		waited_in_call(next->pid, wait_ns, told);
	s->off_ns = s->woken_ns = 0;
}

/*
 * A task that was off the processor when last seen, and is on one: its switch was not told. Kernels leave out
 * switches from tasks that are not to be traced. It came as long ago as it has run since. Rare, and so one
 * function for all that notice it.
 */
static __noinline int came_unseen(struct task_struct *task, struct slot *s, u64 now, u32 by)
{
	u64 begin_ns = s->off_ns, run_ns = task->se.sum_exec_runtime - s->run_ns;
	u64 least_ns = s->woken_ns > begin_ns ? s->woken_ns : begin_ns;
	u64 came_ns = run_ns < now - least_ns ? now - run_ns : least_ns;
	came(0, task, s, begin_ns, came_ns, by);
	return 0;
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
		bool sleeps = (prev_state & TASK_UNINTERRUPTIBLE) && !(prev_state & TASK_NOLOAD);
		/* Of the kernel's own tasks those sleeps are when they have nothing to do. */
		bool softly = !runnable && !sleeps && !(prev->flags & PF_KTHREAD) &&
			      prev_state & (TASK_INTERRUPTIBLE | TASK_STOPPED | TASK_TRACED | TASK_FROZEN);
		if (runnable || sleeps || softly) {
			s = take_slot(prev_pid);
			if (s) {
				now = bpf_ktime_get_ns();
				if (s->off_ns)
					came_unseen(prev, s, now, BY_SWITCH);
				s->run_ns = prev->se.sum_exec_runtime;
				s->left = 1;
				s->state = runnable ? 0 : sleeps ? TASK_UNINTERRUPTIBLE :
					   prev_state & TASK_INTERRUPTIBLE ? TASK_INTERRUPTIBLE :
									     TASK_STOPPED;
				s->woken_ns = 0;
				s->off_ns = now;
				if (!s->entry_ns)
					s->entry_ns = now;
			}
		} else {
			s = slot_of(prev_pid);
			if (s) {
				if (s->off_ns)
					came_unseen(prev, s, bpf_ktime_get_ns(), BY_SWITCH);
				s->left = 1;
				s->woken_ns = s->off_ns = 0;
				if (prev_state & TASK_DEAD)
					s->start_ns = s->granted_ns = s->entry_ns = 0;
			}
		}
	}
	if (!next_pid)
		return 0;
	s = slot_of(next_pid);
	if (!s)
		return 0;
	/* Woken from a sleep that is not looked at: from then on it waits for a processor. */
	u64 begin_ns = s->off_ns;
	if (!begin_ns) {
		begin_ns = s->woken_ns;
		s->state = 0;
	}
	if (!begin_ns)
		return 0;
	if (!now)
		now = bpf_ktime_get_ns();
	came(prev, next, s, begin_ns, now, BY_SWITCH);
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
	struct slot *s = slot_of(pid);
	if (!s || !s->off_ns) {
		if (task->__state & TASK_UNINTERRUPTIBLE)
			return 0;
		s = take_slot(pid);
		if (s) {
			s->woken_ns = bpf_ktime_get_ns();
			s->waker_pid = -1;
			s->waker_comm[0] = 0;
		}
		return 0;
	}
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

/*
 * Argument: the task. It was off the processor, and is about to go on in its own code: the C library asks
 * the kernel to tell it, up to 6.18 each time.
 */
SEC("tp_btf/rseq_update")
int baro_returned(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct slot *s = slot_of(task->pid);
	if (s) {
		if (s->off_ns)
			came_unseen(task, s, bpf_ktime_get_ns(), BY_RETURN);
		s->entry_ns = 0;
	}
	return 0;
}

#endif
