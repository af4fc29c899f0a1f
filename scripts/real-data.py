#!/usr/bin/env python3
"""Fetches a public set of sensor data as lines of time,series,value for `baro bench store --data`.

    scripts/real-data.py FOLDER

The data: what the radiation station of Payerne (Switzerland) measured in June 2016, each minute
mean, deviation, smallest and largest of irradiances at several heights, temperature, humidity and
pressure (MeteoSwiss, Baseline Surface Radiation Network). The wheel of pvlib ships it for its own
examples. It is fetched by pip, by version and hash, and never committed.

Prints the path of the file it has made; one that is there already is kept.
"""

import datetime
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "pvlib==0.10.5"
WHEEL_SHA256 = "ad4d935bda052089f63b6a68a1c9e5894f34f0f73fca300cda7fc16ee6f1d586"
MEMBER = "pvlib/data/bsrn-lr0100-pay0616.dat"
YEAR, MONTH = 2016, 6
# Missing values, by the format's description; of the last three columns in tenths.
MISSING = {"-999", "-99.9", "-9.9"}

QUANTITIES = ["global", "direct", "diffuse", "longwave_down"]
STATISTICS = ["mean", "deviation", "min", "max"]
AIR = ["temperature", "humidity", "pressure"]


def wheel(folder):
    """The wheel's path, fetched into `folder`."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{PACKAGE} --hash=sha256:{WHEEL_SHA256}\n")
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
         "--require-hashes", "--dest", folder, "-r", requirements],
        check=True, stdout=sys.stderr)
    return next(folder.glob("*.whl"))


def samples(text):
    """(time in ns, (quantity, statistic), value as text) of the file's station-to-archive format."""
    record, head = "", None
    for line in text.splitlines():
        if line.startswith("*"):
            record = line[2:].strip().removeprefix("U")
            head = None
            continue
        words = line.split()
        if record != "0100":
            continue
        if head is None:
            # Day, minute, then global and direct.
            day, minute = int(words[0]), int(words[1])
            start = datetime.datetime(YEAR, MONTH, day, tzinfo=datetime.timezone.utc)
            time_ns = (int(start.timestamp()) + 60 * minute) * 1_000_000_000
            head, values = time_ns, words[2:]
            names = [(q, s) for q in QUANTITIES[:2] for s in STATISTICS]
        else:
            time_ns, head = head, None
            values = words
            names = [(q, s) for q in QUANTITIES[2:] for s in STATISTICS]
            names += [(q, "mean") for q in AIR]
        if len(values) != len(names):
            raise SystemExit(f"expected {len(names)} values, found {len(values)}: {line!r}")
        for name, value in zip(names, values):
            if value not in MISSING:
                yield time_ns, name, value


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    out = folder / "payerne-2016-06.csv"
    if out.exists():
        print(out)
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = wheel(pathlib.Path(scratch))
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != WHEEL_SHA256:
            raise SystemExit(f"{path.name}: expected SHA-256 {WHEEL_SHA256}, found {found}")
        text = zipfile.ZipFile(path).read(MEMBER).decode("latin-1")
    lines = []
    for time_ns, (name, statistic), value in samples(text):
        # A quote inside quotes is written twice.
        series = f'"{name}{{station=""payerne"",statistic=""{statistic}""}}"'
        lines.append(f"{time_ns},{series},{value}")
    beside = out.with_suffix(".new")
    beside.write_text("\n".join(lines) + "\n")
    beside.rename(out)
    print(out)


if __name__ == "__main__":
    main()
