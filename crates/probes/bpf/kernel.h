/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The few types of the kernel that the probes look into, with the few members that they use.
 * preserve_access_index makes the compiler note each access by name: the loader puts in the offset
 * that the running kernel's BTF says. So order, size and what lies between do not matter here, and
 * a name after ___ is another form of the same type.
 */
#ifndef BARO_KERNEL_H
#define BARO_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
#define bool _Bool

/* Of the kernel's include/uapi/linux/bpf.h. */
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_RB_NO_WAKEUP 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_io_accounting {
	u64 syscr;
	u64 syscw;
};

struct sched_entity {
	u64 sum_exec_runtime;
};

struct cfs_bandwidth {
	s64 period;
	u64 quota;
	u64 throttled_time;
};

struct task_group {
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};

struct thread_info {
	/* Not on x86, where it is a variable of the processor. */
	int preempt_count;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	void *stack;
	unsigned int flags;
	int pid;
	int tgid;
	char comm[16];
	void *journal_info;
	struct task_io_accounting ioac;
	struct sched_entity se;
	struct task_group *sched_task_group;
	/* There while each return to a program's own code after a switch is told; up to 6.18. */
	unsigned long rseq_event_mask;
	void *rseq;
};

struct pt_regs___x86 {
	unsigned long di, si, dx, r10, r8, r9, orig_ax;
};

struct pt_regs___arm64 {
	u64 regs[31];
	u64 orig_x0;
	s32 syscallno;
};

typedef struct {
	int counter;
} atomic_t;

struct percpu_counter {
	s64 count;
};

struct list_head {
	struct list_head *next;
};

struct block_device {
	u32 bd_dev;
};

struct journal_head {
	struct journal_head *b_tnext;
	struct journal_head *b_cpnext;
};

struct transaction_s {
	struct journal_s *t_journal;
	u32 t_tid;
	enum { TRANSACTION_RUNNING } t_state;
	int t_nr_buffers;
	struct journal_head *t_reserved_list;
	struct journal_head *t_forget;
	struct journal_head *t_checkpoint_list;
	struct journal_head *t_shadow_list;
	struct list_head t_inode_list;
	atomic_t t_updates;
	atomic_t t_outstanding_credits;
	atomic_t t_handle_count;
};

struct journal_s {
	struct transaction_s *j_running_transaction;
	struct transaction_s *j_committing_transaction;
	struct transaction_s *j_checkpoint_transactions;
	struct percpu_counter j_checkpoint_jh_count;
	unsigned long j_free;
	unsigned long j_first;
	unsigned long j_last;
	struct block_device *j_fs_dev;
	unsigned int j_total_len;
	atomic_t j_reserved_credits;
	int j_max_transaction_buffers;
};

struct jbd2_journal_handle {
	struct transaction_s *h_transaction;
};

#pragma clang attribute pop

struct pt_regs;
struct bpf_raw_tracepoint_args;

#endif
