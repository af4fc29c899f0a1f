//! What is read: the log in time order, verification.
