/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * System calls, if asked for: being attached here makes every call of the machine go the slow way.
 */
#ifndef BARO_CALLS_H
#define BARO_CALLS_H

#include "common.h"

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

#endif
