"""Records sensor and control data without making the producer wait, and reads it back.

    import barograph, polars
    with barograph.Recorder("/data/store", create="1G") as rec:
        temp = rec.series('temp{site="a"}', unit="°C")
        rec.push(temp, 21.5)
        rec.wait_durable()
    store = barograph.open("/data/store")
    polars.DataFrame(store.query('temp{site="a"}', start="-1h", every="1m", agg="mean"))

Times are nanoseconds since 1970, UTC.
"""

from ._barograph import VERSION as __version__
from ._barograph import Batch, Channel, Column, Series
from ._errors import (
    Closed,
    Damaged,
    Error,
    Forked,
    Gone,
    InUse,
    Lost,
    NewerVersion,
    NotAStore,
    NotDurable,
    Refused,
    ReservationWarning,
    RingFull,
    TooLarge,
    Unknown,
)
from ._recorder import Attached, Recorder, attach
from ._store import Frame, NumpyColumns, Rows, Sample, Store, open

__all__ = [
    "Attached",
    "Batch",
    "Channel",
    "Closed",
    "Column",
    "Damaged",
    "Error",
    "Forked",
    "Frame",
    "Gone",
    "InUse",
    "Lost",
    "NewerVersion",
    "NotAStore",
    "NotDurable",
    "NumpyColumns",
    "Recorder",
    "Refused",
    "ReservationWarning",
    "RingFull",
    "Rows",
    "Sample",
    "Series",
    "Store",
    "TooLarge",
    "Unknown",
    "__version__",
    "attach",
    "open",
]
