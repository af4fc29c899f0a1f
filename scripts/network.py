#!/usr/bin/env python3
"""Samples over HTTP: baro record --http beside VictoriaMetrics, in turn, with the same bytes.

    scripts/network.py --baro FOLDER --victoria PROGRAM --dir FOLDER [--series 1000,100000,1000000]
                       [--connections 1,2,4] [--samples 4000000] [--lines 50000] [--rounds 2]
                       [--out FILE.jsonl] [--names N]

FOLDER has baro and baro-listen. Each run has a new store. First each series is sent once, then --samples in
requests of --lines lines of one value. A run's time ends with the last answer: of baro that is durable, of
VictoriaMetrics it is in its memory. Processor time and peak memory are those of the server's processes alone;
`rest_cpu_ns` is what they take in the 8 s after that, for what they have put off, `settle_cpu_ns` what baro
settle takes after the end. Bytes on disk are those after the end; of baro its log, which has its size from the
begin, and beside it what is settled. Raw rows go to --out, a table of medians to stdout. With --names: the listener's memory for so many new series instead. Needs nothing but
Python.
"""
import argparse
import json
import os
import random
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

REST_S = 8
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
BEGIN_NS = 1_700_000_000_000_000_000


def requests(series, samples, lines, first_pass):
    """Whole requests; pass after pass over all series, ten seconds apart."""
    random.seed(7)
    heads = [f"cpu,host=host{n:07},rack=r{n % 61},region=eu-west-{n % 5} usage=" for n in range(series)]
    values = [f"{random.uniform(0, 100):.2f}" for _ in range(9973)]
    found, part, at = [], [], 0
    for n in range(samples):
        if n % series == 0:
            end = f" {BEGIN_NS + (first_pass + n // series) * 10_000_000_000}\n"
        part.append(heads[n % series] + values[at] + end)
        at = (at + 1) % len(values)
        if len(part) == lines or n + 1 == samples:
            body = "".join(part).encode()
            head = f"POST /write HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            found.append(head.encode() + body)
            part = []
    return found


def send(port, bodies, connections):
    """Sends all, and returns the seconds until the last answer."""
    todo, lock, faults = iter(bodies), threading.Lock(), []

    def work():
        with socket.create_connection(("127.0.0.1", port)) as client:
            while True:
                with lock:
                    body = next(todo, None)
                if body is None:
                    return
                for attempt in range(100):
                    client.sendall(body)
                    answer = b""
                    while b"\r\n\r\n" not in answer:
                        more = client.recv(65536)
                        if not more:
                            faults.append("the server has closed the connection")
                            return
                        answer += more
                    status = answer.split(b" ")[1]
                    if status == b"204":
                        break
                    if status != b"503" or attempt == 99:
                        faults.append(answer.decode(errors="replace")[:300])
                        return
                    length = [l for l in answer.lower().split(b"\r\n") if l.startswith(b"content-length")]
                    left = int(length[0].split(b":")[1]) - len(answer.split(b"\r\n\r\n", 1)[1])
                    while left > 0:
                        left -= len(client.recv(left))
                    again.append(1)

    again = []
    threads = [threading.Thread(target=work) for _ in range(connections)]
    begun = time.monotonic()
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    if faults:
        sys.exit(f"network: expected 204, found {faults[0]}")
    return time.monotonic() - begun, len(again)


def processes(pid):
    """A process and its children."""
    found = [pid]
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and int(open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(name))
        except OSError:
            pass
    return found


def cpu_s(pids):
    ticks = 0
    for pid in pids:
        fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks * TICK_S


def peak_kib(pids):
    lines = [line for pid in pids for line in open(f"/proc/{pid}/status")]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def disk_bytes(folder):
    return sum(os.lstat(os.path.join(base, name)).st_blocks * 512
               for base, _, names in os.walk(folder) for name in names)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(server, options, folder):
    port = free_port()
    if server == "baro":
        argv = [os.path.join(options.baro, "baro"), "record", os.path.join(folder, "store"), "--init", "2G",
                "--recycle", "--http", f"127.0.0.1:{port}"]
    else:
        argv = [options.victoria, f"-httpListenAddr=127.0.0.1:{port}", f"-storageDataPath={folder}/store",
                "-retentionPeriod=100y", "-loggerLevel=ERROR"]
    log = open(os.path.join(folder, "log"), "w")
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    ready = "/ready" if server == "baro" else "/health"
    for _ in range(600):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as client:
                client.sendall(f"GET {ready} HTTP/1.0\r\n\r\n".encode())
                if b" 200 " in client.recv(4096):
                    return child, port
        except OSError:
            pass
        if child.poll() is not None:
            break
        time.sleep(0.1)
    child.kill()
    sys.exit(f"network: {server} does not listen: {open(os.path.join(folder, 'log')).read()[-500:]}")


def stop(child):
    child.send_signal(signal.SIGTERM)
    try:
        child.wait(60)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def settled(options, store):
    """Settles what is left; the processor time that this takes, and the bytes of all but the log."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([os.path.join(options.baro, "baro"), "settle", "--all", store], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, disk_bytes(store) - disk_bytes(os.path.join(store, "log"))


def run(server, options, series, connections, bodies, samples):
    folder = os.path.join(options.dir, f"network-{os.getpid()}")
    os.makedirs(folder)
    child, port = start(server, options, folder)
    try:
        pids = processes(child.pid)
        idle = cpu_s(pids)
        first_s, first_again = send(port, bodies[0], connections)
        first = cpu_s(pids)
        load = os.getloadavg()[0]
        seconds, again = send(port, bodies[1], connections)
        then = cpu_s(pids)
        time.sleep(REST_S)
        rest, peak = cpu_s(pids), peak_kib(pids)
        stop(child)
        store = os.path.join(folder, "store")
        disk, settle, runs = disk_bytes(store), None, None
        if server == "baro":
            settle, runs = settled(options, store)
    finally:
        stop(child)
        shutil.rmtree(folder)
    return {"server": server, "series": series, "connections": connections, "samples": samples,
            "lines": options.lines, "seconds": round(seconds, 3), "per_s": round(samples / seconds),
            "cpu_ns": round((then - first) / samples * 1e9),
            "rest_cpu_ns": round((rest - then) / samples * 1e9),
            "first_seconds": round(first_s, 3), "first_cpu_ns": round((first - idle) / series * 1e9),
            "again": again + first_again, "peak_kib": peak, "disk_bytes": disk, "settle_cpu_ns": settle and round(settle / samples * 1e9),
            "settled_bytes": runs,
            "load": round(load, 1)}


def names(options):
    """Memory of the listener, without the ring, before and after so many new series."""
    count, folder = options.names, os.path.join(options.dir, f"network-{os.getpid()}")
    bodies = requests(count, count, options.lines, 0)
    os.makedirs(folder)
    child, port = start("baro", options, folder)
    try:
        pid = next(pid for pid in processes(child.pid) if pid != child.pid)

        def memory(what):
            return next(int(line.split()[1]) for line in open(f"/proc/{pid}/status") if line.startswith(what))

        # All of the ring is touched before.
        send(port, requests(10, options.lines, options.lines, 1), 1)
        before, all_before = memory("RssAnon"), memory("VmRSS")
        send(port, bodies, 1)
        name = f'cpu_usage{{host="host{0:07}",rack="r10",region="eu-west-0"}}'
        row = {"names": count, "name_bytes": len(name),
               "bytes_a_name": round((memory("RssAnon") - before) * 1024 / count),
               "peak_bytes_a_name": round((memory("VmHWM") - all_before) * 1024 / count)}
        print(json.dumps(row))
    finally:
        stop(child)
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--baro", required=True)
    parser.add_argument("--victoria", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--series", default="1000,100000,1000000")
    parser.add_argument("--connections", default="1,2,4")
    parser.add_argument("--samples", type=int, default=4_000_000)
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out")
    parser.add_argument("--names", type=int)
    options = parser.parse_args()
    if options.names:
        names(options)
        return
    rows = []
    for series in map(int, options.series.split(",")):
        bodies = (requests(series, series, options.lines, 0),
                  requests(series, options.samples, options.lines, 1))
        for connections in map(int, options.connections.split(",")):
            for turn in range(options.rounds):
                for server in ["baro", "victoria"][::1 if turn % 2 == 0 else -1]:
                    row = run(server, options, series, connections, bodies, options.samples)
                    rows.append(row)
                    print(row, file=sys.stderr, flush=True)
                    if options.out:
                        with open(options.out, "a") as out:
                            out.write(json.dumps(row) + "\n")
    table(rows)


def table(rows):
    print("| series | connections | samples/s | VictoriaMetrics | ratio | ns a sample | VictoriaMetrics | ratio "
          "| with all that is put off | ns a new series, ratio | peak MiB | VictoriaMetrics | settled, bytes a sample "
          "| VictoriaMetrics |\n" + "|---" * 14 + "|")
    for key in sorted({(row["series"], row["connections"]) for row in rows}):
        of = {}
        for server in ["baro", "victoria"]:
            mine = [row for row in rows if (row["series"], row["connections"], row["server"]) == (*key, server)]
            of[server] = lambda name, mine=mine: statistics.median(row[name] or 0 for row in mine)
        ours, theirs = of["baro"], of["victoria"]
        whole = [sum(map(one, ("cpu_ns", "rest_cpu_ns", "settle_cpu_ns"))) for one in (ours, theirs)]
        samples = ours("samples") + key[0]
        print(f"| {key[0]:,} | {key[1]} | {ours('per_s'):,.0f} | {theirs('per_s'):,.0f} "
              f"| {ours('per_s') / theirs('per_s'):.2f} | {ours('cpu_ns'):,.0f} | {theirs('cpu_ns'):,.0f} "
              f"| {ours('cpu_ns') / theirs('cpu_ns'):.2f} | {whole[0] / whole[1]:.2f} "
              f"| {ours('first_cpu_ns') / theirs('first_cpu_ns'):.2f} "
              f"| {ours('peak_kib') / 1024:.0f} | {theirs('peak_kib') / 1024:.0f} "
              f"| {ours('settled_bytes') / samples:.2f} | {theirs('disk_bytes') / samples:.2f} |")


if __name__ == "__main__":
    main()
