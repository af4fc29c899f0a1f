/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the programs share: what user space sets, the places where they keep what they know, and the
 * ring that they write records into. Nothing here is allocated while a program runs.
 */
#ifndef BARO_COMMON_H
#define BARO_COMMON_H

#include "kernel.h"
#include "records.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* Set by user space before the programs are loaded. */
const volatile u32 target_dev = 0; /* only this file system; 0: all */
const volatile u32 own_tgid = 0; /* whose sleeps nobody wants to know */
const volatile u32 slot_mask = 0xffff; /* slots - 1 */
const volatile u32 calls_on = 0;
const volatile u64 min_sleep_ns = 1000000;
const volatile u64 min_runnable_ns = 5000000;
const volatile u64 min_call_sleep_ns = 10000000; /* S, in one of `sleep_calls` */
const volatile u64 min_any_sleep_ns = 100000000; /* S, anywhere */
const volatile u32 returns_on = 0; /* baro_returned is attached */
const volatile u64 sleep_calls[8] = {}; /* numbers of calls, a bit each */
const volatile u64 min_handle_ns = 100000;
const volatile u64 min_held_ns = 1000000;
const volatile u64 min_busy_ns = 50000000;
const volatile u64 sample_ns = 10000000;

#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED 0x4
#define TASK_TRACED 0x8
#define TASK_FROZEN 0x8000
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
	u8 state; /* while off the processor: 0 runnable, 1 S, 2 D, 4 stopped */
	u8 waker_context;
	u8 left; /* has been off the processor since start_ns */
	u8 unused;
	u64 off_ns; /* since when off the processor in such a state; else 0 */
	u64 woken_ns;
	u64 start_ns; /* since when waiting for a handle */
	u64 granted_ns; /* since when it has one */
	u64 entry_ns; /* first off the processor since it was in its own code; 0 not since */
	s32 waker_pid;
	u32 unused2;
	char waker_comm[16];
	u64 run_ns; /* on processors in all, when it left the last */
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

/*
 * Where a sleep is put together, so that it takes no more room in the ring than its stack has functions. One for
 * each program that tells of sleeps: on one processor a program does not begin again before it has ended.
 */
#define BY_SWITCH 0
#define BY_RETURN 1
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, RECORD(baro_sleep));
} sleeps SEC(".maps");

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
	s->off_ns = s->woken_ns = s->start_ns = s->granted_ns = s->entry_ns = 0;
	s->pid = pid;
	return s;
}

#endif
