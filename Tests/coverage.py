"""Prints the line coverage of each module from the raw profiles of one test run.

usage: coverage.py BUILD_DIRECTORY     (with profiles/*.profraw below it)
"""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys

# The tools must be of the compiler's own version.
TOOLS = os.path.dirname(os.path.realpath(shutil.which("swift") or "swift"))


def main(built):
    folder = pathlib.Path(built)
    raw = [str(path) for path in (folder / "profiles").glob("*.profraw")]
    merged = folder / "profiles" / "all.profdata"
    (folder / "profiles" / "list").write_text("\n".join(raw))
    subprocess.run(
        [os.path.join(TOOLS, "llvm-profdata"), "merge", "-sparse", "--input-files", str(folder / "profiles" / "list"),
         "--failure-mode=warn", "-o", str(merged)], check=True)
    bundle = next(folder.glob("*PackageTests.xctest"))
    programs = [path for name in ("reveille", "reveille-client") if (path := folder / name).exists()]
    report = subprocess.run(
        [os.path.join(TOOLS, "llvm-cov"), "export", "-summary-only", "-instr-profile", str(merged), str(bundle)]
        + [word for program in programs for word in ("-object", str(program))],
        check=True, stdout=subprocess.PIPE).stdout
    lines = collections.defaultdict(lambda: [0, 0])
    for file in json.loads(report)["data"][0]["files"]:
        parts = pathlib.Path(file["filename"]).parts
        if "Sources" in parts:
            module = lines[parts[parts.index("Sources") + 1]]
            module[0] += file["summary"]["lines"]["covered"]
            module[1] += file["summary"]["lines"]["count"]
    for name, (covered, count) in sorted(lines.items()):
        print("%-20s %6d of %6d lines  %5.1f %%" % (name, covered, count, 100 * covered / count))


if __name__ == "__main__":
    main(sys.argv[1])
