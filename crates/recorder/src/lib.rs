//! The real-time write path: ring, writer, log, recovery.
