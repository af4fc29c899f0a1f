"""What can go wrong. Each exception says in one sentence what, where, what was expected and found."""

from __future__ import annotations


class Error(Exception):
    """An error of Barograph; all others are of this kind too."""


class NotAStore(Error):
    """There is no store in the folder, or it is a file."""


class Damaged(Error):
    """A part of the store is not as it was written, and rows are missing."""


class NewerVersion(Error):
    """The store was made by a newer version than this one."""


class Gone(Error, FileNotFoundError):
    """A file or folder of the store is not there, or not any more."""


class InUse(Error):
    """Another process records into the store."""


class Unknown(Error, LookupError):
    """No series or channel has the name, or none is selected."""


class Refused(Error):
    """A record was not taken: it is lost, and counted."""


class RingFull(Refused):
    """The ring is full: the disk has been slower than the input for longer than the ring covers."""


class TooLarge(Refused, ValueError):
    """A frame or text is larger than the ring takes."""


class Closed(Error):
    """The object was closed, or its recorder has ended."""


class Forked(Error):
    """A forked child used an object of its parent."""


class NotDurable(Error, TimeoutError):
    """Not all was durable in the time given."""


class Lost(Error):
    """A recording has ended, and records were lost that no exception told of."""


class ReservationWarning(UserWarning):
    """A promise that holds only in part on this machine; said once."""
