/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the probes write: each record is a time and an event in the form that tracefs' own events
 * have. src/records.rs reads this very text to describe the events, so it keeps to what that
 * understands: one field a line, `type name;` or `type name[COUNT];`, largest alignment 8, and no
 * filler between the fields. Fields called unused are not described.
 */
#ifndef BARO_RECORDS_H
#define BARO_RECORDS_H

#define FRAMES 48
#define BUCKETS 40

/* What all events begin with. */
struct common {
	u16 type;
	u8 flags;
	u8 preempt_count;
	s32 pid;
};

struct baro_sleep {
	struct common common;
	s32 pid;
	s32 tgid;
	u64 begin_ns;
	u64 woken_ns;
	char comm[16];
	char waker_comm[16];
	s32 waker_pid;
	u32 waker_context;
	u32 state;
	u32 cpu;
	s64 call;
	u64 args[3];
	u64 write_calls;
	u64 read_calls;
	u64 entry_ns;
	u64 run_ns;
	u64 quota_ns;
	u64 period_ns;
	u64 throttled_ns;
	char before_comm[16];
	s32 before_pid;
	u32 frames_max;
	u64 frames;
	u64 stack[FRAMES];
};

struct baro_handle {
	struct common common;
	u32 dev;
	u32 tid;
	u32 kind;
	u32 line;
	u64 begin_ns;
	s32 requested_blocks;
	u32 unused;
};

struct baro_held {
	struct common common;
	u32 dev;
	u32 tid;
	u32 kind;
	u32 line;
	u64 begin_ns;
	s32 requested_blocks;
	s32 dirtied_blocks;
	u32 sync;
	u32 unused;
};

/* Made by user space from a map. */
struct baro_handles {
	struct common common;
	u32 dev;
	u32 unused;
	u64 begin_ns;
	u64 count;
	u64 unpaired;
	u64 sum_wait_ns;
	u64 max_wait_ns;
	u64 buckets[BUCKETS];
};

struct baro_call {
	struct common common;
	s64 number;
	u64 args[6];
	u64 begin_ns;
	s64 ret;
	u64 wait_ns;
};

struct baro_journal {
	struct common common;
	u32 dev;
	u32 reason;
	u64 free_blocks;
	u64 total_blocks;
	u64 usable_blocks;
	s64 checkpoint_buffers;
	s32 reserved_credits;
	s32 max_transaction_buffers;
	u32 running_tid;
	s32 running_state;
	s32 running_outstanding;
	s32 running_buffers;
	s32 running_updates;
	s32 running_handles;
	u32 committing_tid;
	s32 committing_state;
	s32 committing_outstanding;
	s32 committing_buffers;
	u32 checkpoint_tid;
	u32 has;
};

struct baro_lists {
	struct common common;
	u32 dev;
	u32 tid;
	u32 stage;
	s32 state;
	s32 handles;
	s32 outstanding;
	u32 reserved;
	u32 metadata;
	u32 forget;
	u32 shadow;
	u32 checkpoint;
	u32 inodes;
	u32 capped;
	u32 unused;
};

/* Numbers of the events, and of what is lost of each kind. */
enum {
	SLEEP,
	HANDLE,
	HELD,
	HANDLES,
	CALL,
	JOURNAL,
	LISTS,
	KINDS,
};
#define FIRST_ID 60000

#endif
