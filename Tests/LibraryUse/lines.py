"""The example watch.py by `reveille-client run --json`, without any library. Takes the same words,
with the program before them:

  lines.py PROGRAM FEED KEY SERVICE DIRECTORY NAME [later] < SECRET
"""

import ctypes
import json
import os
import signal
import subprocess
import sys


def with_parent():
    """The program dies with this one, however that is killed (prctl(2), PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def prepare(program, feed, key, service, name, is_new, profile=(), environment=None):
    """Makes the profile, and adds standard input as a secret unless it is empty."""
    def call(*words, **options):
        subprocess.run(
            [program, *words, *profile], env=environment, check=True, stdout=subprocess.DEVNULL,
            **options)

    if is_new:
        call("init", "--feed", feed, "--key", key, "--service", service)
    secret = sys.stdin.buffer.read()
    if secret:
        call("secrets", "add", name, input=secret.hex().encode())


def show(status):
    print("status: %s, %d batches checked, %d matches waiting" % (
        "connected" if status["stream"] == "connected" else "not connected", status["sequence"],
        status["matchesToDeliver"]))


# Another process still works with this state, as one that was killed a moment ago.
LOCKED = 75


def watch(program, feed, key, service, directory, name, *words):
    prepare(
        program, feed, key, service, name, not os.path.exists(directory),
        profile=["--state", directory])
    status = LOCKED
    while status == LOCKED:
        status = run_once(program, directory, later="later" in words)
    return status


def run_once(program, directory, later):
    run = subprocess.Popen(
        [program, "run", "--json", "--state", directory], text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, preexec_fn=with_parent)
    signal.signal(signal.SIGTERM, lambda *_: run.terminate())
    for line in run.stdout:
        event = json.loads(line)
        if event["event"] == "status":
            show(event)
        elif event["event"] == "warning":
            print("warning:", event["code"])
        elif event["event"] == "match":
            print(
                "left for later:" if later else "this concerns you:", event["secret"],
                event["id"], event["note"])
            if not later:
                run.stdin.write(json.dumps({"acknowledge": event["id"]}) + "\n")
                run.stdin.flush()
    return run.wait()


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(watch(*sys.argv[1:]))
