"""Runs the suites of the test bundle in processes of their own, several side by side, and sums up.

Within a process one test follows the other, so that a test's time limit measures that test, and suites
that measure their own memory or descriptors need no special care. To find the tests of the bundle takes
a process a tenth of a second: suites of one target that start no programs share one. What suites do is
mostly waiting, so there are four processes for each core that may be used, and no more than thirty-two.

Suites of the client run as an ordinary user where this program is root's, as people run the client.

usage: suites.py BUNDLE [--jobs N] [--fast] [--filter REGEX] [--skipped FILE]
  --fast     leaves out the suites that start programs
  --filter   only suites whose "Target.Suite" matches
  --skipped  where to write how many tests were skipped, and why, instead of standard output
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
# Suites that wait for much longer than they compute, or compute longest: they begin first.
LONG = [
    "EndToEndTests.RelayStoryTests", "ExampleTests.MessengerTests", "EndToEndTests.AuditBesideTests",
    "EndToEndTests.ClientKillTests", "ExampleTests.SharedLibraryTests", "EndToEndTests.SocksTests",
    "EndToEndTests.ErrorTableTests", "EndToEndTests.FCMBroadcastTests",
    "EndToEndTests.FCMTopicBroadcastTests", "EndToEndTests.AlertTests", "EndToEndTests.ErasureTests",
    "WakeStoreTests.RoomTests", "WakePushTests.WebPushGatewayTests",
    "WakePushTests.WebPushHangingHostTests", "WakeServerTests.BroadcastRunTests",
    "WakeFeedTests.PythonPeerTests", "WakeFeedTests.SuccessionLivesTests", "WakeStoreTests.FaultTests",
    "WakeFetchTests.AbortTests", "FuzzTests.FuzzTests",
]
# The ordinary user: nobody's number on Debian, which owns no file of the system.
ORDINARY = 65534
# Suites of the client that need root: to serve port 53, to mount, to give files away.
PRIVILEGED = {"SocksTests", "ClientErasureTests", "ForeignFilesTests"}
# Tests that suites which share a process have together, at most.
SHARED = 40
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


def ordinary(bundle, folder):
    """The words that start a program as the ordinary user; none where this program is not root's, or
    counts covered lines into files of root's."""
    if os.geteuid() != 0 or "LLVM_PROFILE_FILE" in os.environ:
        return []
    words = ["setpriv", "--reuid=%d" % ORDINARY, "--regid=%d" % ORDINARY, "--clear-groups"]
    # A checkout below a home that is closed to others is read all the same, and nothing else is allowed.
    reads = ["--inh-caps=-all,+dac_read_search", "--ambient-caps=+dac_read_search"]
    if subprocess.run(words + ["test", "-x", bundle]).returncode != 0:
        words += reads
    os.chmod(folder, 0o711)
    home = os.path.join(folder, "home")
    os.mkdir(home, 0o700)
    os.chown(home, ORDINARY, ORDINARY)
    return words + ["env", "HOME=" + home]


def of_client():
    """The names of the suites of the client's programs, which are those of their files."""
    folders = pathlib.Path(__file__).resolve().parent.glob("EndToEndTests/Client*")
    names = {file.stem for folder in folders for file in folder.glob("*Tests.swift")}
    return {"EndToEndTests." + name for name in names - PRIVILEGED}


class Job:
    """One process of the bundle: the suites it runs, and what came of them."""

    def __init__(self):
        self.suites, self.tests = [], 0
        self.passed = self.failed = self.skipped = 0
        # What skipped tests lack, each with the number of tests.
        self.reasons = collections.Counter()
        self.seconds = self.processor = 0.0
        self.output = ""

    def add(self, suite, tests):
        self.suites.append(suite)
        self.tests += tests
        return self

    @property
    def name(self):
        more = len(self.suites) - 1
        return self.suites[0] + (" and %d more" % more if more else "")

    def run(self, bundle, folder, words):
        is_client = words and self.suites[0] in of_client()
        report = pathlib.Path(folder, "home" if is_client else ".", self.suites[0] + ".xml")
        command = (words if is_client else []) + [
            bundle, "--testing-library", "swift-testing", "--no-parallel",
            "--filter", "^(%s)[./]" % "|".join(map(re.escape, self.suites)),
            "--xunit-output", str(report)]
        start = time.monotonic()
        log = pathlib.Path(folder) / (self.suites[0] + ".log")
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
        ended = self.passed + self.failed + self.skipped
        if not self.failed and (status != 0 or ended < self.tests):
            self.failed = 1
            self.output += "\n%s: ended with %s after %d of %d tests\n" % (
                self.name, status, ended, self.tests)
        return self

    def read(self, report):
        try:
            cases = list(ElementTree.parse(report).getroot().iter("testcase"))
        except (OSError, ElementTree.ParseError):
            return
        self.failed = sum(case.find("failure") is not None for case in cases)
        self.reasons.update(
            (case.findtext("skipped") or "without a reason").strip()
            for case in cases if case.find("skipped") is not None)
        self.skipped = self.reasons.total()
        self.passed = len(cases) - self.failed - self.skipped

    def faults(self):
        """The lines of the output that say what failed, with what follows them."""
        lines = self.output.splitlines()
        marks = ("✘", "error:", "Fatal error", "unexpected signal", "↳", "ended with")
        chosen = [line for line in lines if any(mark in line for mark in marks)]
        return chosen[:60] if chosen else lines[-40:]


def jobs(tests, fast, wanted):
    """Jobs for the suites of the listed tests ("Target.Suite/test()"), long ones first."""
    suites = collections.Counter(test.split("/")[0] for test in tests)
    unknown = set(LONG) - set(suites)
    if unknown:
        sys.exit("suites.py: no such suites: %s" % ", ".join(sorted(unknown)))
    alone, shared = [], collections.defaultdict(list)
    for name, count in suites.items():
        target = name.split(".")[0]
        if not re.search(wanted, name) or fast and target in PROGRAMS:
            continue
        if target in PROGRAMS or name in LONG:
            alone.append(Job().add(name, count))
            continue
        jobs = shared[target]
        if not jobs or jobs[-1].tests + count > SHARED:
            jobs.append(Job())
        jobs[-1].add(name, count)
    rank = {name: place for place, name in enumerate(LONG)}
    alone.sort(key=lambda job: (rank.get(job.suites[0], len(rank)), -job.tests))
    return alone + sorted(sum(shared.values(), []), key=lambda job: -job.tests)


def skips(work):
    """Lines that say how many tests were skipped, for want of what, and what they need to run."""
    reasons = sum((job.reasons for job in work), collections.Counter())
    if not reasons:
        return
    yield "%d of %d tests were skipped:" % (
        reasons.total(), sum(job.passed + job.failed + job.skipped for job in work))
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        yield "%6d  %s" % (count, reason)
    rights = [reason for reason in reasons if re.search(r"\b(right|root|namespaces)\b", reason)]
    long = [reason for reason in reasons if "REVEILLE_LONG" in reason]
    if len(rights) + len(long) < len(reasons):
        yield "Tests/check --peers installs what they need, and runs them"
    if rights:
        yield "those that need rights or root: the same as root, on a machine of its own"


def main():
    start = time.monotonic()
    parser = argparse.ArgumentParser()
    parser.add_argument("bundle")
    parser.add_argument("--jobs", type=int, default=min(32, max(4, 4 * cores())))
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--filter", default="")
    parser.add_argument("--skipped")
    options = parser.parse_args()
    listed = subprocess.run(
        [options.bundle, "--testing-library", "swift-testing", "--list-tests"],
        stdout=subprocess.PIPE, check=True, text=True,
    ).stdout.split("\n")
    tests = [line for line in listed if re.match(r"\w+\.\w+", line)]
    work = jobs(tests, options.fast, options.filter)
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        words = ordinary(os.path.abspath(options.bundle), folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            running = [pool.submit(job.run, options.bundle, folder, words) for job in work]
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
    summary = "".join(line + "\n" for line in skips(work))
    if options.skipped:
        pathlib.Path(options.skipped).write_text(summary)
    else:
        print(summary, end="")
    return 1 if bad or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
