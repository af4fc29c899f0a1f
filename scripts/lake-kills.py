#!/usr/bin/env python3
"""Kills hand-overs to a Delta table at random moments, and counts what the table has after each.

    scripts/lake-kills.py RESULTS.jsonl --rounds 1000 [--place local|s3] [--seed N]

Each round records samples, some of them at times that are there already, settles them, and starts `baro-lake`,
which is killed after a random part of the time that a whole hand-over takes. Then the table is read with
`deltalake`: each row has to be a sample that was recorded, once. After that a hand-over goes on to its end, and the
rows have to be all samples. A row of RESULTS for each round; a new store and table each 25. It goes on behind the
rows that RESULTS has.

For `s3` a server of moto runs on loopback; it does one request at a time, since it looks for a name and takes it
in two steps. BARO and BARO_LAKE name the programs. Needs deltalake and pyarrow, and for `s3` moto[server] and boto3:
`cargo xtask full lake` leaves a Python with them in target/python/lake.
"""

import argparse
import json
import logging
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import deltalake

BARO = os.environ.get("BARO", "target/release/baro")
LAKE = os.environ.get("BARO_LAKE", "target/release/baro-lake")
SERIES = 20
TIMES = 200
ROUNDS_OF_A_STORE = 25
BUCKET = "plant-bucket"


def serve():
    """Starts a server of S3 with a bucket; returns what a client needs to know."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    keys = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=keys["AWS_ENDPOINT_URL"],
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        region_name="us-east-1",
    )
    client.create_bucket(Bucket=BUCKET)
    logging.getLogger("werkzeug").disabled = True
    return keys


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


class Store:
    """A store and its table, and what was recorded."""

    def __init__(self, folder, table, keys):
        self.folder, self.table, self.keys = str(folder), table, keys
        self.samples = {}
        run(BARO, "init", self.folder, "--size", "16M", "--recycle")

    def record(self, chance):
        """Settles new samples; a quarter of the times is there already."""
        first = len({time_ns for _, time_ns in self.samples}) * 3 // 4
        lines = []
        for number in range(first, first + TIMES):
            for series in range(SERIES):
                name, time_ns = f"s{series}", 1_700_000_000_000_000_000 + number * 1_000_000_007
                value = chance.randrange(1 << 20) / 8
                self.samples[name, time_ns] = value
                lines.append(f"{time_ns},{name},{value}\n")
        run(BARO, "record", self.folder, "--stdin", "csv", "--no-settle", input="".join(lines))
        run(BARO, "settle", self.folder, "--all")

    def start(self):
        environment = {**os.environ, **self.keys}
        command = [LAKE, "lake", self.folder, self.table]
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def finish(self):
        lake = self.start()
        _, said = lake.communicate(timeout=120)
        if lake.returncode != 0:
            raise RuntimeError(f"exit {lake.returncode}: {said.decode()}")

    def rows(self):
        """Samples of the table: each with how often it is there with its sequence."""
        options = {**self.keys, "AWS_ALLOW_HTTP": "true"} if self.keys else None
        if not self.keys and not os.path.exists(f"{self.table}/_delta_log/{0:020}.json"):
            return []
        try:
            table = deltalake.DeltaTable(self.table, storage_options=options)
        except deltalake.exceptions.TableNotFoundError:
            return []
        arrow = table.to_pyarrow_table(columns=["series", "time", "ns", "value", "sequence"])
        times = arrow["time"].cast("int64").to_pylist()
        columns = [arrow[name].to_pylist() for name in ("series", "ns", "value", "sequence")]
        return [(name, us * 1000 + ns, value, seq) for us, (name, ns, value, seq) in zip(times, zip(*columns))]


def wrong_of(rows, samples, is_whole):
    """What is wrong with the rows of a table; empty if nothing is."""
    keyed = [(name, time_ns, seq) for name, time_ns, _, seq in rows]
    if len(set(keyed)) != len(keyed):
        return f"{len(keyed) - len(set(keyed))} rows are there twice"
    newest = {}
    for name, time_ns, value, seq in sorted(rows, key=lambda row: row[3]):
        newest[name, time_ns] = value
    if any(key not in samples for key in newest):
        return "rows that nobody recorded"
    if is_whole and newest != samples:
        missing = sum(key not in newest for key in samples)
        return f"{missing} samples are missing, {len(samples) - missing} are there"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--place", choices=["local", "s3"], default="local")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    done = 0
    if os.path.exists(arguments.results):
        with open(arguments.results, encoding="utf-8") as file:
            done = sum(json.loads(line)["place"] == arguments.place for line in file)
    keys = serve() if arguments.place == "s3" else {}
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lake-kills-"))
    commit = run("git", "rev-parse", "--short=8", "HEAD").strip()
    store, whole_s, all_wrong = None, 0.5, 0
    try:
        with open(arguments.results, "a", encoding="utf-8") as results:
            for number in range(done, arguments.rounds):
                chance = random.Random(arguments.seed * 1_000_003 + number)
                if store is None or number % ROUNDS_OF_A_STORE == 0:
                    shutil.rmtree(folder)
                    folder.mkdir()
                    table = f"s3://{BUCKET}/{number}" if keys else str(folder / "table")
                    store = Store(folder / "store", table, keys)
                store.record(chance)
                after_s = chance.random() * whole_s * 1.2
                began = time.monotonic()
                lake = store.start()
                try:
                    lake.wait(after_s)
                    whole_s = 0.9 * whole_s + 0.1 * (time.monotonic() - began)
                except subprocess.TimeoutExpired:
                    lake.send_signal(signal.SIGKILL)
                was_killed = lake.wait() == -signal.SIGKILL
                lake.stderr.close()
                rows = store.rows()
                wrong = wrong_of(rows, store.samples, is_whole=not was_killed)
                store.finish()
                final = store.rows()
                wrong = wrong or wrong_of(final, store.samples, is_whole=True)
                all_wrong += bool(wrong)
                line = {
                    "place": arguments.place,
                    "round": number,
                    "commit": commit,
                    "after_ms": round(after_s * 1e3, 1),
                    "killed": was_killed,
                    "rows_then": len(rows),
                    "rows": len(final),
                    "samples": len(store.samples),
                    "wrong": wrong,
                }
                print(json.dumps(line), file=results, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{arguments.rounds - done} rounds at {arguments.place}, {all_wrong} wrong")
    return 1 if all_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
