#!/usr/bin/env python3
"""Counts the instructions of the hot paths with valgrind, and holds them against those that are kept
in instructions.json: a path that takes more than 5 % more is a regression, on however busy a machine.

usage: instructions.py PROGRAM [--record] [--tolerance PERCENT] [PATH...]
  PROGRAM: hot-paths, optimised and without debug information, as `Deploy/build hot-paths` makes it
  --record: keeps what was counted; counts depend on processor, compiler and libraries, so each
            combination has its own
Ends with 0 when all is well or cannot be told here, 1 for a regression, 2 for anything else."""

import argparse
import ctypes
import ctypes.util
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.json")


def combination():
    """What counts depend on. libsodium and glibc choose their code by the processor; valgrind shows
    programs no wider vectors than those of AVX2."""
    said = subprocess.run(["swift", "--version"], capture_output=True, text=True).stdout
    swift = re.search(r"Swift version (\S+)", said)
    sodium = ctypes.CDLL(ctypes.util.find_library("sodium"))
    sodium.sodium_version_string.restype = ctypes.c_char_p
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        vectors = "avx2" if re.search(r"^flags.* avx2( |$)", file.read(), re.M) else "base"
    return " ".join([
        platform.machine(), vectors, "swift", swift.group(1) if swift else "?", "libsodium",
        sodium.sodium_version_string().decode(), "glibc", platform.libc_ver()[1]])


def count(program, paths):
    """Instructions of one operation of each path."""
    with tempfile.TemporaryDirectory() as directory:
        words = [
            "valgrind", "--tool=callgrind", "--dump-before=getppid", "--error-limit=no", "-q",
            f"--callgrind-out-file={directory}/counts", program, directory] + paths
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "SWIFT_DETERMINISTIC_HASHING": "1",
            "LC_ALL": "C", "HOME": "/nonexistent"}
        run = subprocess.run(words, capture_output=True, text=True, env=environment)
        lines = run.stdout.splitlines()
        if run.returncode != 0 or not lines:
            sys.exit(f"{program} failed under valgrind:\n{run.stdout}{run.stderr}")
        counts = {}
        for index, line in enumerate(lines):
            name, operations = line.split()
            # A dump is what was counted until a call of getppid: the second of each pair.
            with open(f"{directory}/counts.{2 * index + 2}", encoding="utf-8") as file:
                total = re.search(r"^(?:totals|summary): (\d+)", file.read(), re.M)
            if total is None:
                sys.exit("valgrind counted nothing")
            counts[name] = round(int(total.group(1)) / int(operations), 1)
        if len(glob.glob(f"{directory}/counts.*")) < 2 * len(lines):
            sys.exit("something else calls getppid: the counts mean nothing")
        return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("program")
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--tolerance", type=float, default=5)
    options = parser.parse_intermixed_args()
    if shutil.which("valgrind") is None:
        print("instructions are not counted: install the package valgrind")
        return 0
    with open(FILE, encoding="utf-8") as file:
        kept = json.load(file)
    here = combination()
    if here not in kept and not options.record:
        print(f"instructions are not counted: no counts for {here}; --record makes them")
        return 0
    counted = count(os.path.abspath(options.program), options.paths)
    if options.record:
        kept.setdefault(here, {}).update(counted)
        with open(FILE, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=1, sort_keys=True)
            file.write("\n")
    worse = []
    print(f"{'instructions of one operation':32}{'counted':>12}{'kept':>12}")
    for name, value in counted.items():
        before = kept[here].get(name)
        if before is None:
            print(f"{name:32}{value:12}{'-':>12}  no count is kept: --record")
            worse.append(name)
            continue
        change = (value / before - 1) * 100
        mark = ""
        if change > options.tolerance:
            worse.append(name)
            mark = f"  more than {options.tolerance:g} % above"
        print(f"{name:32}{value:12}{before:12}  {change:+.2f} %{mark}")
    for name in sorted(set(kept[here]) - set(counted)) if not options.paths else []:
        print(f"{name} is kept and was not counted")
        worse.append(name)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
