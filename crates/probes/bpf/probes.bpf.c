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
#include "calls.h"
#include "handles.h"
#include "journals.h"
#include "sleeps.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
