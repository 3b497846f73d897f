"""A program that only a UnifiedPush distributor wakes, by libreveille.

  pushes.py FEED KEY SERVICE DIRECTORY < SECRET

Takes the only distributor that there is. SIGUSR1 unregisters, SIGTERM ends.
"""

import asyncio
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Examples", "Python"))
import reveille


def found(match):
    print("this concerns you:", match.secret)
    return True


def show(status):
    words = {reveille.UNREGISTERED: "not registered", reveille.REGISTERED: "registered"}
    print("status: %s, %d batches checked" % (
        words.get(status.registration, "under way"), status.sequence))


async def run(feed, key, service, directory):
    client = reveille.Client(
        feed, key, directory, found, service=service, on_status=show, channel=reveille.POLL,
        on_warning=lambda name, text: print("warning: %s: %s" % (name, text)))
    client.add_secret("visit", sys.stdin.buffer.read())
    distributor, = reveille.distributors()
    client.use_distributor("org.example.Pushes", distributor)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    loop.add_signal_handler(signal.SIGUSR1, client.unregister)
    client.start_in(loop)
    await ended.wait()
    client.close()


sys.stdout.reconfigure(line_buffering=True)
asyncio.run(run(*sys.argv[1:]))
