"""Runs every suite of the test bundle in a process of its own, several side by side, and sums up.

Within a suite one test follows the other, so that a test's time limit measures that test, and suites
that measure their own memory or descriptors need no special care. What suites do is mostly waiting,
so there are three processes for each core that may be used, and no more than thirty-two.

usage: suites.py BUNDLE [--jobs N] [--fast] [--filter REGEX]
  --fast    leaves out the suites that start programs
  --filter  only suites whose "Target.Suite" matches
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree

# Targets whose suites start the built programs.
PROGRAMS = {"EndToEndTests", "ExampleTests", "PrivacyTests"}
# Seconds after which a process is stuck. Tests have time limits of their own.
LIMIT = 1500
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def cores():
    """The cores that this process may use: in a container the machine may have many more."""
    count = float(len(os.sched_getaffinity(0)))
    try:
        # "Control Group v2" in the kernel's documentation: "$MAX $PERIOD", or "max".
        quota, period = pathlib.Path("/sys/fs/cgroup/cpu.max").read_text().split()
        count = min(count, int(quota) / int(period))
    except (OSError, ValueError):
        pass
    return max(1, round(count))


class Job:
    """One process of the bundle: the suite it runs, and what came of it."""

    def __init__(self, name, tests):
        self.name, self.tests = name, tests
        self.passed = self.failed = self.skipped = 0
        self.seconds = self.processor = 0.0
        self.output = ""

    def run(self, bundle, folder):
        report = pathlib.Path(folder) / (self.name + ".xml")
        command = [
            bundle, "--testing-library", "swift-testing", "--no-parallel",
            "--filter", "^%s[./]" % re.escape(self.name), "--xunit-output", str(report)]
        start = time.monotonic()
        log = pathlib.Path(folder) / (self.name + ".log")
        with open(log, "wb") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            stuck = threading.Timer(LIMIT, os.kill, (process.pid, signal.SIGKILL))
            stuck.start()
            # Not wait(): this also says what the process and its children used.
            _, status, usage = os.wait4(process.pid, 0)
            stuck.cancel()
            process.returncode = status = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - start
        self.processor = usage.ru_utime + usage.ru_stime
        self.output = ESCAPES.sub("", log.read_text(errors="replace"))
        self.read(report)
        if not self.failed and (status != 0 or self.passed + self.skipped == 0):
            self.failed = 1
            self.output += "\n%s: ended with %s\n" % (self.name, status)
        return self

    def read(self, report):
        try:
            cases = list(ElementTree.parse(report).getroot().iter("testcase"))
        except (OSError, ElementTree.ParseError):
            return
        self.failed = sum(case.find("failure") is not None for case in cases)
        self.skipped = sum(case.find("skipped") is not None for case in cases)
        self.passed = len(cases) - self.failed - self.skipped

    def faults(self):
        """The lines of the output that say what failed, with what follows them."""
        lines = self.output.splitlines()
        marks = ("✘", "error:", "Fatal error", "unexpected signal", "↳", "ended with")
        chosen = [line for line in lines if any(mark in line for mark in marks)]
        return chosen[:60] if chosen else lines[-40:]


def jobs(tests, fast, wanted):
    """One job for each suite of the listed tests ("Target.Suite/test()"), long ones first."""
    suites = collections.Counter(test.split("/")[0] for test in tests)
    chosen = [
        Job(name, count) for name, count in suites.items()
        if re.search(wanted, name) and not (fast and name.split(".")[0] in PROGRAMS)]
    # Suites that start programs take longest.
    return sorted(chosen, key=lambda job: (job.name.split(".")[0] not in PROGRAMS, -job.tests))


def main():
    start = time.monotonic()
    parser = argparse.ArgumentParser()
    parser.add_argument("bundle")
    parser.add_argument("--jobs", type=int, default=min(32, max(4, 3 * cores())))
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    listed = subprocess.run(
        [options.bundle, "--testing-library", "swift-testing", "--list-tests"],
        stdout=subprocess.PIPE, check=True, text=True,
    ).stdout.split("\n")
    tests = [line for line in listed if re.match(r"\w+\.\w+", line)]
    work = jobs(tests, options.fast, options.filter)
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            running = [pool.submit(job.run, options.bundle, folder) for job in work]
            for done in concurrent.futures.as_completed(running):
                job = done.result()
                print("%s %-60s %4d tests %7.1f s, processor %6.1f s" % (
                    "✘" if job.failed else "✔", job.name,
                    job.passed + job.failed + job.skipped, job.seconds, job.processor),
                    flush=True)
                if job.failed:
                    failed.append(job)
    for job in failed:
        print("\n== %s" % job.name)
        print("\n".join(job.faults()))
    passed, bad, skipped = (
        sum(getattr(job, kind) for job in work) for kind in ("passed", "failed", "skipped"))
    print("\n%d passed, %d failed, %d skipped in %.0f s, %.0f s of processor time" % (
        passed, bad, skipped, time.monotonic() - start, sum(job.processor for job in work)))
    return 1 if bad or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
