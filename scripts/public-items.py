#!/usr/bin/env python3
"""Counts the public items of a library of this workspace, from rustdoc's JSON.

    scripts/public-items.py PACKAGE [--list]

Counted once each, if a path of `pub` names from the crate's root reaches it without extra features:
functions, types, traits, constants, statics and macros, inherent methods and associated constants;
what another crate's item is handed on as counts as one. Not counted: modules, variants, fields, and
what a trait's implementation has.
"""
import json
import os
import subprocess
import sys
from collections import Counter

ITEMS = {"function", "struct", "enum", "union", "type_alias", "trait", "constant", "static", "macro",
         "proc_macro"}


def document(package):
    """Rustdoc's JSON is for nightly compilers; this lets the pinned one write it."""
    env = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    subprocess.run(["cargo", "rustdoc", "--quiet", "-p", package, "--lib", "--", "-Z",
                    "unstable-options", "--output-format", "json"], env=env, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", "target")
    with open(f"{target}/doc/{package.replace('-', '_')}.json") as file:
        return json.load(file)


class Count:
    def __init__(self, doc):
        self.index, self.seen, self.items = doc["index"], set(), []
        self.walk(doc["root"], "")

    def of(self, number):
        item = self.index.get(str(number))
        return item, *(next(iter(item["inner"].items())) if item else (None, None))

    def walk(self, number, path):
        item, kind, inner = self.of(number)
        if item is None or number in self.seen:
            return
        if kind != "use":
            self.take(number, f"{path}::{item['name']}" if path else item["name"])
            return
        target, target_kind, target_inner = self.of(inner["id"])
        if inner["is_glob"]:
            if target_kind == "module":
                self.children(target_inner["items"], path)
        elif target is None or target["crate_id"] != 0:
            self.items.append(("handed on", f"{path}::{inner['name']}"))
        else:
            self.take(inner["id"], f"{path}::{inner['name']}")

    def children(self, numbers, path):
        for number in numbers:
            item = self.of(number)[0]
            if item and item["visibility"] == "public":
                self.walk(number, path)

    def take(self, number, path):
        if number in self.seen:
            return
        self.seen.add(number)
        _, kind, inner = self.of(number)
        if kind == "module":
            self.children(inner["items"], path)
        if kind in ITEMS:
            self.items.append((kind, path))
        for block in inner["impls"] if kind in ("struct", "enum", "union") else []:
            block = self.of(block)[2]
            if block is None or block["trait"] is not None:
                continue
            for number in block["items"]:
                item, kind, _ = self.of(number)
                if item and item["visibility"] == "public":
                    kind = "method" if kind == "function" else "associated constant"
                    self.items.append((kind, f"{path}::{item['name']}"))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    items = Count(document(sys.argv[1])).items
    if "--list" in sys.argv:
        for kind, path in sorted(items, key=lambda item: item[1]):
            print(f"{kind:20} {path}")
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(k for k, _ in items).most_common())
    print(f"{sys.argv[1]}: {len(items)} public items ({kinds})")


main()
