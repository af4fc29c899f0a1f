//! Settings of the machine: applied with an undo journal, undone.
