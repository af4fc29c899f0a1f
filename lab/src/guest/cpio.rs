//! An archive as the kernel takes it for its first file system: cpio, "newc" form
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

/// An archive being written.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    folders: Vec<String>,
}

const FOLDER: u32 = 0o04_0755;
const FILE: u32 = 0o10_0000;
const LINK: u32 = 0o12_0777;

impl Archive {
    /// A folder with those above it; nothing if it is there already.
    pub(crate) fn folder(&mut self, path: &str) {
        let mut upto = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if !upto.is_empty() {
                upto.push('/');
            }
            upto.push_str(part);
            if !self.folders.contains(&upto) {
                self.entry(&upto, FOLDER, b"");
                self.folders.push(upto.clone());
            }
        }
    }

    /// A file, with the folders above it.
    pub(crate) fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) {
        let path = path.trim_start_matches('/');
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.folder(folder);
        }
        self.entry(path, FILE | mode, bytes);
    }

    /// A symbolic link.
    pub(crate) fn link(&mut self, path: &str, target: &str) {
        self.entry(path.trim_start_matches('/'), LINK, target.as_bytes());
    }

    fn entry(&mut self, path: &str, mode: u32, bytes: &[u8]) {
        self.entries += 1;
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let name = u32::try_from(path.len() + 1).unwrap_or(u32::MAX);
        let inode = self.entries;
        // inode mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
        self.bytes.extend(b"070701");
        for number in [inode, mode, 0, 0, 1, 0, length, 0, 0, 0, 0, name, 0] {
            self.bytes.extend(format!("{number:08x}").bytes());
        }
        self.bytes.extend(path.bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend(bytes);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// The whole.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, b"");
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::filter;
    use std::process::Command;

    #[test]
    fn busybox_reads_what_was_written() {
        let mut archive = Archive::default();
        archive.file("/a/b/file", 0o640, b"five!");
        archive.file("/a/b/empty", 0o755, b"");
        archive.link("a/link", "b/file");
        let bytes = archive.finish();
        assert!(bytes.len().is_multiple_of(4));
        if crate::tool::which("busybox").is_none() {
            println!("skipped: no busybox (apt-get install busybox-static)");
            return;
        }
        let list = filter(Command::new("busybox").args(["cpio", "-tv"]), &bytes).unwrap();
        let list = String::from_utf8(list).unwrap();
        let lines: Vec<&str> = list.lines().collect();
        assert_eq!(lines.len(), 5, "{list}");
        assert!(lines[2].starts_with("-rw-r-----") && lines[2].ends_with("a/b/file"), "{list}");
        assert!(lines[2].contains(" 5 ") && lines[4].contains("a/link -> b/file"), "{list}");
    }
}
