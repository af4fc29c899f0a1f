#!/usr/bin/env python3
"""Samples of sensors with clocks of their own, as CSV at their own rate.

    scripts/own-clocks.py SENSORS RATE SECONDS SEED | baro record STORE --stdin csv

Walks in hundredths with steps of 256 levels (8 bits); times up to 1 ms early or late (21 bits).
"""
import random, sys, time
sensors, rate, seconds, seed = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
draw = random.Random(seed)
value = [draw.randrange(0, 16384) for _ in range(sensors)]
out = sys.stdout
begin = time.time()
tick = 0
while tick / rate < seconds:
    due = begin + tick / rate
    now = time.time()
    if due > now:
        time.sleep(due - now)
    at = int(due * 1e9)
    lines = []
    for s in range(sensors):
        value[s] += draw.randrange(-128, 128)
        lines.append(f"{at + draw.randrange(-1000000, 1000000)},s{s},{value[s] / 100:.2f}\n")
    out.write("".join(lines)); out.flush()
    tick += 1
