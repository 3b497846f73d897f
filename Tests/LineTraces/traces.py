#!/usr/bin/env python3
"""What the line tells about a match: traces of many clients with a match and as many without, and how well
anything in them tells the one from the other.

usage: traces.py --programs DIR [--clients N] [--modes sync,run] [--handlers 0,0.03,5,fail]
                 [--registrations no,due] [--control] [--seed N] [--pace SECONDS]
                 [--compare match|none|unreadable|secrets] [--secrets N] [--flush MS] [--hold SECONDS]
       traces.py --programs DIR --order [--control]

Clients of both classes start in random order, PACE seconds apart. Each fetches three batches, in `run`
two more after wakes; a client with a match finds one in each. A registration that is due is sent within
ten minutes. Printed is for every feature of a trace the area under the ROC curve with its interval of
95 %, and that of a classifier of all features. Fails where a feature tells more than 0.55 and the
interval, widened for the number of features (Bonferroni), leaves out chance.

--hold has the wakes of `run` come within a check, whose last batch is answered so much later: with a program
of 1.5 s and 0.6 s the program ends within the next check. --flush is a disk whose flushes take longer.
--compare has other classes than clients with and without a match: `none` two that are alike, which tells how
far chance goes; `unreadable` one whose secrets are open to others; `secrets` one with N secrets.

--order compares no times: it holds the programs of matches back until the stories are over, and fails
when a trace of a client with a match has another order, other sizes or other ends than one without, or
when a program starts before the check is complete and, in `sync`, its connections are closed.

--control has a client that delivers first, which must be caught: fails when it is not.
"""

import argparse
import collections
import multiprocessing
import os
import pathlib
import random
import secrets
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import origin
import ranks

FOLDER = pathlib.Path(__file__).parent
# Batches that are there at first, and rounds of one more batch in `run`.
FIRST, ROUNDS, DIGESTS = 3, 2, 1000
CLASSES = ("plain", "match")
LIMIT = 0.55


class Site:
    """A feed, and a profile of each class to copy."""

    def __init__(self, programs, folder, options):
        self.programs, self.folder, self.options = programs, folder, options
        made = self.run("reveille", "init", f"{folder}/site")
        self.key = made.split("feed key: ")[1].split()[0]
        found = [secrets.token_hex(32) for _ in range(FIRST + ROUNDS)]
        heads = []
        for index, secret in enumerate(found):
            items = sorted([secret] + [secrets.token_hex(32) for _ in range(DIGESTS - 1)])
            self.run("reveille", "feed", "publish", "-", "--secrets", "--config",
                     f"{folder}/site/reveille.conf", given="\n".join(items))
            if index + 1 >= FIRST:
                heads.append(pathlib.Path(f"{folder}/site/feed/head").read_bytes())
        files = pathlib.Path(f"{folder}/site/feed")
        batches = {file.name: file.read_bytes() for file in (files / "b").iterdir()}
        self.origin = Watch(origin.Feed(heads, (files / "keys").read_bytes(), batches), folder)
        for kind in CLASSES:
            self.makeProfile(kind, found, "due" in options.registrations)

    def run(self, program, *words, given=""):
        return subprocess.run([f"{self.programs}/{program}", *words], input=given, text=True,
                              check=True, capture_output=True).stdout

    def makeProfile(self, kind, found, hasRegistration):
        state = f"{self.folder}/{kind}"
        ports = self.origin.open(kind, 0, False)
        compared = self.options.compare if kind == "match" else "none"
        own = found if compared == "match" else [secrets.token_hex(32) for _ in found]
        if self.options.compare == "secrets":
            count = self.options.secrets if kind == "match" else 1
            own = [secrets.token_hex(32) for _ in range(count)]
        self.run("reveille-client", "init", "--state", state, "--key", self.key,
                 "--feed", feedURL(ports), "--service", serviceURL(ports))
        self.run("reveille-client", "secrets", "add", "visit", "--state", state,
                 given="\n".join(own))
        if compared == "unreadable":
            os.chmod(f"{state}/secrets", 0o755)
        if hasRegistration:
            self.run("reveille-client", "register", "apns", "--state", state,
                     given=secrets.token_hex(32))
        self.origin.close(kind)

    def profile(self, kind, name, ports, isDue):
        """A profile of this class with addresses of its own."""
        state = f"{self.folder}/{name}"
        def copy(source, target):
            # Nothing changes a secret, and there may be thousands.
            (os.link if "/secrets/" in source else shutil.copy2)(source, target)

        shutil.copytree(f"{self.folder}/{kind}", state, symlinks=True, copy_function=copy,
                        ignore=shutil.ignore_patterns("lock", "control"))
        file = pathlib.Path(f"{state}/client.conf")
        lines = {"feed": feedURL(ports), "key": self.key, "service": serviceURL(ports)}
        file.write_text("[client]\n" + "".join(f"{key} = {lines[key]}\n" for key in lines))
        if os.path.exists(f"{state}/client.db"):
            with sqlite3.connect(f"{state}/client.db") as database:
                if isDue:
                    address = serviceURL(ports) + "v1/registration"
                    database.execute("UPDATE state SET value=json_set(value, '$.notBefore', 0,"
                                     " '$.address', ?) WHERE key='registration'", [address])
                else:
                    database.execute("DELETE FROM state WHERE key='registration'")
            database.close()
        return state


def feedURL(ports):
    return f"http://127.0.0.1:{ports[0]}/feed/"


def serviceURL(ports):
    return f"http://127.0.0.1:{ports[1]}/"


class Watch:
    """The origin's process."""

    def __init__(self, feed, folder):
        self.socket = f"{folder}/programs"
        self.pipe, end = multiprocessing.Pipe()
        self.process = multiprocessing.Process(
            target=lambda: origin.Origin(feed, end, self.socket).serve(), daemon=True)
        self.process.start()
        end.close()
        self.over = set()

    def ask(self, *message):
        self.pipe.send(message)
        while True:
            answer = self.pipe.recv()
            if answer[0] != "over":
                return answer[2:]
            self.over.add(answer[1])

    def open(self, name, rounds, registers, hold=0):
        return self.ask("open", name, rounds, registers, hold)

    def close(self, name):
        return self.ask("close", name)[0]

    def poll(self):
        while self.pipe.poll():
            self.over.add(self.pipe.recv()[1])


class Campaign:
    """Clients of one mode with one handler, all of them at once, a little apart."""

    def __init__(self, site, options, mode, handler, isDue):
        self.site, self.options, self.mode = site, options, mode
        self.handler, self.isDue = handler, isDue
        self.traces = {kind: [] for kind in CLASSES}
        # The process, its class, its profile, and whether it was signalled to end.
        self.running = {}

    def words(self, name, state, ports):
        program = f"python3 {FOLDER}/program.py {self.site.origin.socket} {name} {ports[0]}"
        if self.handler is not None:
            known = {"0": "true", "fail": "false"}
            program = known.get(self.handler, f"sleep {self.handler}")
        if self.options.control:
            return [f"{self.site.programs}/store-worker", "deliver-first", state, self.site.key,
                    feedURL(ports), serviceURL(ports), self.mode, *program.split()]
        return [f"{self.site.programs}/reveille-client", self.mode, "--state", state,
                "--on-match", program]

    def start(self, kind, number):
        name = f"{self.mode}-{self.handler}-{self.isDue}-{number}"
        rounds, hold = (ROUNDS, self.options.hold) if self.mode == "run" else (0, 0)
        ports = self.site.origin.open(name, rounds, self.isDue, hold)
        state = self.site.profile(kind, name, ports, self.isDue)
        output = open(f"{self.site.folder}/{name}.log", "wb")
        # Clients end with this process, however it ends.
        words = ["setpriv", "--pdeathsig", "KILL", *self.words(name, state, ports)]
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                 env=self.environment())
        output.close()
        self.running[name] = (child, kind, state, False)

    def environment(self):
        if self.options.flush == 0:
            return None
        return {**os.environ, "LD_PRELOAD": slowFlush(self.site.folder),
                "SLOW_FLUSH_MICROSECONDS": str(int(self.options.flush * 1000))}

    def expected(self, kind):
        """The exit status of a client that did what it should."""
        if self.mode == "run" or kind == "plain":
            return 0
        status = {"match": 10, "unreadable": 74}.get(self.options.compare, 0)
        return 74 if status == 10 and self.handler == "fail" else status

    def step(self):
        """Ends what is over."""
        self.site.origin.poll()
        for name, (child, kind, state, signalled) in list(self.running.items()):
            if child.poll() is None:
                if self.mode == "run" and not signalled and name in self.site.origin.over:
                    child.send_signal(signal.SIGTERM)
                    self.running[name] = (child, kind, state, True)
                continue
            del self.running[name]
            if not self.options.control and child.returncode != self.expected(kind):
                log = pathlib.Path(f"{self.site.folder}/{name}.log").read_text()
                sys.exit(f"{name} of {kind} ended with {child.returncode}:\n{log}")
            self.traces[kind].append(self.site.origin.close(name))
            shutil.rmtree(state)

    def play(self):
        order = list(CLASSES) * self.options.clients
        random.Random(self.options.seed).shuffle(order)
        for number, kind in enumerate(order):
            self.start(kind, number)
            pause = time.monotonic() + self.options.pace
            while time.monotonic() < pause:
                self.step()
                time.sleep(min(0.02, self.options.pace))
        while self.running:
            self.step()
            time.sleep(0.02)
        return self.traces


def slowFlush(folder):
    """The library by which flushes take longer."""
    library = f"{folder}/slow-flush.so"
    if not os.path.exists(library):
        source = FOLDER.parent / "Benchmarks/SlowFlush/slow-flush.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], check=True)
    return library


def shape(trace):
    """The order, the sizes and the ends of a trace by role; no times, and no local program."""
    roles = collections.defaultdict(list)
    for _, role, kind, count in trace:
        # The order in which two packets that cross are seen is no client's.
        if role != "program" and kind != "wake":
            roles[role].append((kind, count))
    return {role: tuple(events) for role, events in roles.items()}


def features(trace):
    """The numbers of a trace, in milliseconds, bytes and events, by their names."""
    found, last, first = {}, {}, {}
    counts = collections.Counter()
    for when, role, kind, count in trace:
        if role == "program":
            continue
        # What the origin does takes no time of the client.
        if role in last and kind not in ("answer", "wake"):
            counts[role, kind] += 1
            found[f"{role}: {last[role][1]} to {kind} {counts[role, kind]}"] = (
                when - last[role][0]) / 1e6
        first.setdefault(role, when)
        last[role] = (when, kind)
        found[f"{role}: {kind}s"] = found.get(f"{role}: {kind}s", 0) + 1
        found[f"{role}: bytes of {kind}s"] = found.get(f"{role}: bytes of {kind}s", 0) + count
    for role in first:
        found[f"{role}: all"] = (last[role][0] - first[role]) / 1e6
        if role == "stream":
            found["feed to stream"] = (first[role] - first["feed"]) / 1e6
        if role == "registration":
            # The check's end, not that of a later round.
            ends = [when for when, which, kind, _ in trace if (which, kind) == ("feed", "end")]
            found["first end of feed to registration"] = (first[role] - ends[0]) / 1e6
    return found


def table(traces):
    """The features by name, and a row of them for each trace. Of a trace that has not the usual shape,
    only that is known: its other features are what they usually are."""
    shapes = {kind: [str(sorted(shape(trace).items())) for trace in traces[kind]]
              for kind in CLASSES}
    usual = collections.Counter(sum(shapes.values(), [])).most_common(1)[0][0]
    rows = {kind: [features(trace) for trace in traces[kind]] for kind in CLASSES}
    same = [row for kind in CLASSES for row, known in zip(rows[kind], shapes[kind]) if known == usual]
    names = sorted(set.intersection(*map(set, same)))
    medians = {name: statistics.median(row[name] for row in same) for name in names}
    for kind in CLASSES:
        rows[kind] = [{**(row if known == usual else medians), "another shape": known != usual}
                      for row, known in zip(rows[kind], shapes[kind])]
    return [*names, "another shape"], rows


def measure(title, traces, seed):
    """Prints the areas; returns them by feature, and whether one of them tells too much."""
    names, rows = table(traces)
    classes = [[[row[name] for name in names] for row in rows[kind]] for kind in ("match", "plain")]
    areas = {}
    for index, name in enumerate(names):
        match, plain = ([row[index] for row in kind] for kind in classes)
        if min(match + plain) < max(match + plain):
            areas[name] = (*ranks.area(match, plain), statistics.median(match),
                           statistics.median(plain))
    areas["all of them, boosted"] = (*ranks.classified(*classes, seed), 0, 0)
    return report(title, len(traces["match"]), areas), areas


def report(title, count, areas):
    print(f"\n{title}: {count} of each class")
    wide = statistics.NormalDist().inv_cdf(1 - 0.05 / 2 / len(areas))
    isTold = False
    for name, (area, error, match, plain) in sorted(
            areas.items(), key=lambda item: -abs(item[1][0] - 0.5)):
        told = 0.5 + abs(area - 0.5)
        # A classifier of rows that it was not trained with is worse than chance by chance alone.
        isSignificant = (area if "boosted" in name else told) - wide * error > 0.5
        isTold |= isSignificant and told > LIMIT
        mark = "!" if isSignificant and told > LIMIT else " "
        print(f"{mark} {area:.3f} [{area - 1.96 * error:.3f}, {area + 1.96 * error:.3f}]  {name}"
              + (f" ({match:.2f}, {plain:.2f})" if match or plain else ""))
    return isTold


def ordered(mode, traces):
    """What differs in order, sizes or ends, and programs that start too early."""
    faults = set()
    shapes = {kind: {str(sorted(shape(trace).items())) for trace in traces[kind]}
              for kind in CLASSES}
    if len(shapes["plain"] | shapes["match"]) > 1:
        faults.add("traces differ:\n" + "\n".join(sorted(shapes["plain"] | shapes["match"])))
    starts = 0
    for trace in traces["match"]:
        programs = [(kind, count) for _, role, kind, count in trace if role == "program"]
        starts += len(programs) > 0
        for kind, connections in programs:
            if kind == "early":
                faults.add("a program starts before the check is complete")
            if mode == "sync" and connections > 0:
                faults.add("a program starts before the connections are closed")
    if starts < len(traces["match"]):
        faults.add("a match is not delivered")
    return faults


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--programs", required=True)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--modes", default="sync,run")
    parser.add_argument("--handlers", default="0,0.03,5")
    parser.add_argument("--registrations", default="no")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--order", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pace", type=float, default=0.25)
    parser.add_argument("--compare", default="match",
                        choices=["match", "none", "unreadable", "secrets"])
    parser.add_argument("--secrets", type=int, default=10000)
    parser.add_argument("--flush", type=float, default=0)
    parser.add_argument("--hold", type=float, default=0)
    options = parser.parse_args()
    if options.order:
        options.clients, options.handlers, options.pace = 4, "held", 0
    faults, pooled = False, collections.defaultdict(list)
    registrations = options.registrations.split(",")
    with tempfile.TemporaryDirectory() as folder:
        site = Site(options.programs, folder, options)
        for mode in options.modes.split(","):
            for registration in registrations:
                for handler in options.handlers.split(","):
                    campaign = Campaign(site, options, mode, None if options.order else handler,
                                        registration == "due")
                    traces = campaign.play()
                    if options.order:
                        found = ordered(mode, traces)
                        print(mode, "\n".join(found) or "in order", flush=True)
                        faults |= bool(found)
                        isCaught = bool(found)
                    else:
                        title = f"{mode}, a program of {handler} s, registration {registration}"
                        isCaught, areas = measure(title, traces, options.seed)
                        pooled[mode, registration].append(areas)
                        faults |= isCaught
                    if options.control and not isCaught and handler != "0":
                        sys.exit(f"a client that delivers first is not caught in {mode}")
        for (mode, registration), areas in pooled.items():
            if len(areas) > 1:
                names = set.intersection(*(set(group) for group in areas))
                means = {name: (*ranks.joined([group[name][:2] for group in areas]), 0, 0)
                         for name in names}
                count = options.clients * len(areas)
                faults |= report(f"{mode}, all programs, registration {registration}", count, means)
    if options.control:
        print("\na client that delivers first is caught")
    elif faults:
        sys.exit("\nthe line tells the classes apart")


if __name__ == "__main__":
    main()
