#!/usr/bin/env python3
"""Makes the stalls of `make.py` on other kernels, in guests of the lab, and keeps what was told of each.

    lab/stalls/kernels.py RESULTS.jsonl [--kernels 5.10,6.1] [--collectors btf,tracefs] [NAME..]

Without names all. A line that RESULTS has already is not made again, so it goes on where it was stopped. What a
guest cannot make has a line with `cannot` and the reason. `scripts/stalls.py RESULTS.jsonl` makes the table.
"""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.environ.get("LAB", "cargo xtask lab").split()
KERNELS = "5.10,6.1,6.12"
# The system's own: the guest has its libraries where it looks for them.
PYTHON = "/usr/bin/python3"
# Kinds whose names begin so are of groups of version 2, which a guest has. For the others it gets those of version 1,
# which have limits of I/O for a group of everything.
NEWER = "newer-"
OLDER = """
for name in io memory cpu; do echo -$name >/sys/fs/cgroup/cgroup.subtree_control; done 2>/dev/null
umount /sys/fs/cgroup && mount -t tmpfs groups /sys/fs/cgroup
for name in blkio memory freezer cpu; do
    mkdir /sys/fs/cgroup/$name
    mount -t cgroup -o $name $name /sys/fs/cgroup/$name || rmdir /sys/fs/cgroup/$name
done
"""
INSIDE = """
mkdir -p /stalls/bin && for name in losetup fsfreeze partx; do ln -s /usr/bin/util-$name /stalls/bin/$name; done
export PATH=/stalls/bin:$PATH PYTHONPATH=/stalls/std.zip:/stalls/dynload PYTHONDONTWRITEBYTECODE=1
export PYTHONHOME=/stalls STALLS=/run/stalls BARO=/usr/bin/baro
modprobe -a overlay fuse xfs btrfs dm_mod xts ecb dm_crypt raid1 2>/dev/null
exec python3 /stalls/make.py "$@"
"""


def library(folder):
    """Python's own modules in one file, and those in C beside it: what a guest needs of it."""
    at, whole = sysconfig.get_paths()["stdlib"], os.path.join(folder, "std.zip")
    if not sys.executable.startswith("/usr/bin"):
        at = subprocess.run(
            [PYTHON, "-c", "import sysconfig; print(sysconfig.get_paths()['stdlib'])"],
            check=True, capture_output=True, text=True,
        ).stdout.strip()
    with zipfile.ZipFile(whole, "w") as archive:
        for path in sorted(glob.glob(at + "/**/*.py", recursive=True)):
            name = os.path.relpath(path, at)
            if name.split("/")[0] not in ("test", "dist-packages", "site-packages", "idlelib", "lib2to3", "tkinter"):
                archive.write(path, name)
    return whole, sorted(glob.glob(at + "/lib-dynload/*.so"))


def needed(modules):
    """Libraries that these modules are linked with: a guest has those of programs alone."""
    said = subprocess.run(["ldd", *modules], check=False, capture_output=True, text=True).stdout
    found = {line.split()[2] for line in said.splitlines() if " => /" in line}
    return sorted(path for path in found if not os.path.basename(path).startswith(("libc.", "libm.", "libpthread", "ld-")))


def guest(kernel, collector, names, brought, seconds):
    """Makes `names` one after the other; yields the lines, and at last what else was said."""
    whole, modules, *tools = brought
    command = LAB + ["run", "--kernel", kernel, "--disk", "none", "--fs", "none", "--memory", "4G", "--time", str(seconds)]
    command += ["--in", f"{whole}:/stalls/std.zip"]
    for path in modules:
        command += ["--in", f"{path}:/stalls/dynload/{os.path.basename(path)}"]
    for path in needed(modules):
        command += ["--in", f"{os.path.realpath(path)}:/usr/lib/x86_64-linux-gnu/{os.path.basename(path)}"]
    for path in sorted(glob.glob(HERE + "/*.py")):
        command += ["--in", f"{path}:/stalls/{os.path.basename(path)}"]
    for name in ("baro", PYTHON, "bash", *tools, *filter(None, map(shutil.which, ("mkfs.xfs", "mkfs.btrfs", "dmsetup", "mdadm")))):
        command += ["--with", name]
    inside = INSIDE if names[0].startswith(NEWER) else OLDER + INSIDE
    command += ["--", "sh", "-c", inside, "sh", "--collectors", collector, *names]
    with tempfile.TemporaryFile("w+") as said, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as lab:
        for line in lab.stdout:
            if line.startswith("{"):
                yield json.loads(line)
        lab.wait()
        said.seek(0)
        yield said.read()


def listed():
    made = subprocess.run([sys.executable, HERE + "/make.py", "--list"], check=True, capture_output=True, text=True)
    return [line.split(":")[0] for line in made.stdout.splitlines() if ": " in line and not line.startswith(" ")]


def known(path):
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as file:
        return {(row["kernel"], row["coll"], row["case"]) for row in map(json.loads, file)}


def reason(said, name, collector):
    """What a guest said of one that it could not make; else its last line."""
    if "its time was over" in said and f"{name} {collector}: " not in said:
        return "the guest's time was over"
    lines = [line for line in said.splitlines() if line and not line.startswith("lab: ")]
    own = [line for line in lines if line.startswith(f"{name} {collector}: ")]
    return (own or lines or ["nothing was said"])[-1][:300]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("--kernels", default=KERNELS)
    parser.add_argument("--collectors", default="btf,tracefs")
    parser.add_argument("--at-once", type=int, default=6, help="stalls in one guest")
    parser.add_argument("--each", type=int, default=180, help="seconds that one stall may take")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    names = arguments.names or listed()
    with tempfile.TemporaryDirectory() as folder:
        # Of another name than busybox's own, which have other options.
        places = "/sbin:/usr/sbin:/bin:/usr/bin"
        tools = [shutil.copy(shutil.which(name, path=places), f"{folder}/util-{name}") for name in ("losetup", "fsfreeze", "partx")]
        brought = (*library(folder), *tools)
        for kernel in arguments.kernels.split(","):
            for collector in arguments.collectors.split(","):
                rows(arguments, kernel, collector, names, brought)


def rows(arguments, kernel, collector, names, brought):
    done = known(arguments.results)
    open_ = [name for name in names if (kernel, collector, name) not in done]
    while open_:
        alike = [name for name in open_ if name.startswith(NEWER) == open_[0].startswith(NEWER)]
        now, made = alike[: arguments.at_once], set()
        lines = []
        for line in guest(kernel, collector, now, brought, arguments.each * len(now)):
            if isinstance(line, str):
                said = line
                break
            made.add(line["case"])
            lines.append(line)
        # Of those without a line the first is to blame if the guest stopped there; those behind it are tried again.
        missing = [name for name in now if name not in made]
        own = {name for name in missing if f"{name} {collector}: " in said}
        if missing and not own:
            own = {missing[0]}
        for name in own:
            lines.append({"case": name, "coll": collector, "cannot": reason(said, name, collector)})
            made.add(name)
        with open(arguments.results, "a", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps({"kernel": kernel} | line) + "\n")
        for line in lines:
            print(kernel, collector, line["case"], line.get("cannot") or line["verdict"], flush=True)
        open_ = [name for name in open_ if name not in made]


if __name__ == "__main__":
    main()
