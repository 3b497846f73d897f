"""Watches a feed from an asyncio loop, and prints matches and warnings. Needs libreveille.so.0, and
reveille.py beside it.

  watch.py FEED KEY SERVICE DIRECTORY NAME [later] < SECRET

State is kept in DIRECTORY. Standard input, unless it is empty, is added as a secret called NAME.
SIGUSR1 stands for a platform's push, SIGTERM ends. With "later" no match is acknowledged.
"""

import asyncio
import signal
import sys

import reveille


class Watch:
    """A client whose callbacks print."""

    def __init__(self, feed, key, service, directory, later, on_end):
        self.later, self.on_end = later, on_end
        self.client = reveille.Client(
            feed, key, directory, self.found, service=service, on_warning=self.warn,
            on_status=self.show, on_end=self.end)

    def found(self, match):
        print(
            "left for later:" if self.later else "this concerns you:", match.secret, match.id,
            (match.note or b"").decode(errors="replace"))
        return not self.later

    def warn(self, name, text):
        print("warning:", name)

    def show(self, status):
        print("status: %s, %d batches checked, %d matches waiting" % (
            "connected" if status.stream == reveille.STREAM_CONNECTED else "not connected",
            status.sequence, status.matches_waiting))

    def end(self, error):
        print("ended:", reveille.error_text(error))
        self.on_end()


async def watch(feed, key, service, directory, name, *words):
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    client = Watch(feed, key, service, directory, "later" in words, ended.set).client
    secret = sys.stdin.buffer.read()
    if secret:
        client.add_secret(name, secret)
    loop.add_signal_handler(signal.SIGUSR1, client.wake)
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    client.start_in(loop)
    print("running")
    await ended.wait()
    client.close()


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    sys.stdout.reconfigure(line_buffering=True)
    try:
        asyncio.run(watch(*sys.argv[1:]))
    except reveille.Error as failure:
        sys.exit("failed: %s" % failure)
