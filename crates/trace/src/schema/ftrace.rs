//! Stacks that the tracer adds to events where a trigger asks for them.

use super::events;
use crate::record::Frames;

events! {
    "ftrace";
    /// Where in the kernel the task was; comes right after the event that it belongs to, on the same
    /// processor. Its list of addresses is as long as `size` says, whatever the format declares.
    "kernel_stack" => KernelStack, KernelStackSchema {
        /// How many addresses.
        size: i32 = "size",
        /// The addresses, the innermost function first; with what lies behind them in the event.
        frames: Frames = "caller",
    }
}
