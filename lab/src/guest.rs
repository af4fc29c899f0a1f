//! What a guest starts with: the kernel's image and modules, and a first file system of a few
//! programs.

pub(crate) mod cpio;
pub(crate) mod initramfs;
pub(crate) mod modules;
pub(crate) mod programs;
pub(crate) mod vmlinux;
