#!/usr/bin/env python3
"""Packs the extension module and the Python files beside this script into a wheel; prints its path.

    wheel.py LIBRARY FOLDER

The same files make the same bytes. The platform's tag says the oldest C library that the module runs with,
as its symbols tell.
"""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def version():
    text = open(os.path.join(ROOT, "Cargo.toml"), encoding="utf-8").read()
    return re.search(r'^version = "(.+?)"', text, re.MULTILINE)[1]


def platform_tag(library):
    """manylinux_2_34_x86_64: by the newest symbol of the C library that is asked for."""
    symbols = subprocess.run(["objdump", "-T", library], check=True, capture_output=True, text=True).stdout
    found = {tuple(map(int, one.split("."))) for one in re.findall(r"GLIBC_(\d+\.\d+)", symbols)}
    if not found:
        return f"musllinux_1_2_{platform.machine()}"
    major, minor = max(found | {(2, 17)})
    return f"manylinux_{major}_{minor}_{platform.machine()}"


METADATA = """\
Metadata-Version: 2.3
Name: barograph
Version: {version}
Summary: Records sensor and control data without making the producer wait, and reads it back.
License-Expression: Apache-2.0 OR MIT
Requires-Python: >=3.10
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Rust
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{text}"""


def main():
    library, folder = sys.argv[1:]
    name, number = "barograph", version()
    tag = f"cp310-abi3-{platform_tag(library)}"
    info = f"{name}-{number}.dist-info"
    files = {}
    package = os.path.join(HERE, name)
    for file in sorted(os.listdir(package)):
        if file.endswith((".py", ".pyi", ".typed")):
            files[f"{name}/{file}"] = open(os.path.join(package, file), "rb").read()
    files[f"{name}/_barograph.abi3.so"] = open(library, "rb").read()
    for licence in ("LICENSE-APACHE", "LICENSE-MIT"):
        files[f"{info}/licenses/{licence}"] = open(os.path.join(ROOT, licence), "rb").read()
    text = open(os.path.join(ROOT, "docs/python.md"), encoding="utf-8").read()
    files[f"{info}/METADATA"] = METADATA.format(version=number, text=text).encode()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()

    os.makedirs(folder, exist_ok=True)
    wheel = os.path.join(folder, f"{name}-{number}-{tag}.whl")
    with zipfile.ZipFile(wheel + ".new", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
        for path, data in files.items():
            # The first moment that a zip knows.
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            zipped.writestr(entry, data)
    os.replace(wheel + ".new", wheel)
    print(wheel)


main()
