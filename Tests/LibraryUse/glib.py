"""The example watch.py with the loop of GLib, as programs with GTK have it. Takes the same words."""

import os
import signal
import sys

from gi.repository import GLib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Examples", "Python"))
import watch


def run(feed, key, service, directory, name, *words):
    loop = GLib.MainLoop()
    client = watch.Watch(feed, key, service, directory, "later" in words, loop.quit).client
    secret = sys.stdin.buffer.read()
    if secret:
        client.add_secret(name, secret)
    source = GLib.unix_fd_add_full(
        GLib.PRIORITY_DEFAULT, client.descriptor(), GLib.IO_IN,
        lambda *_: client.dispatch() or GLib.SOURCE_CONTINUE)
    GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGTERM, loop.quit)
    loop.run()
    GLib.source_remove(source)
    client.close()


sys.stdout.reconfigure(line_buffering=True)
run(*sys.argv[1:])
