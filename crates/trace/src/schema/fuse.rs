//! Events of file systems that are programs (FUSE), from Linux 6.12 on.

use super::events;

events! {
    "fuse";
    /// A task sends a request.
    "fuse_request_send" => FuseSend, FuseSendSchema {
        /// The request's number.
        unique: u64 = "unique",
    }
    /// A request is answered, in the context of who answers.
    "fuse_request_end" => FuseEnd, FuseEndSchema {
        /// The request's number.
        unique: u64 = "unique",
    }
}
