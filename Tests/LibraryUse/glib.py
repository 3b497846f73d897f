"""The example watch.py with the loop of GLib, as programs with GTK have it. Takes the same words."""

import ctypes
import os
import signal
import sys

from gi.repository import GLib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Examples", "Python"))
import watch


def run(feed, key, service, directory, name, *words):
    client = watch.Client(feed, key, service, directory, later="later" in words)
    secret = sys.stdin.buffer.read()
    if secret:
        client.call(
            "add_secret", client.handle, name.encode(), secret, ctypes.c_size_t(len(secret)))
    loop, descriptor = GLib.MainLoop(), ctypes.c_int()
    client.call("start_polled", client.handle, ctypes.byref(descriptor))
    source = GLib.unix_fd_add_full(
        GLib.PRIORITY_DEFAULT, descriptor.value, GLib.IO_IN,
        lambda *_: client.call("dispatch", client.handle) or GLib.SOURCE_CONTINUE)
    GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGTERM, loop.quit)
    loop.run()
    GLib.source_remove(source)
    client.call("close", client.handle)


sys.stdout.reconfigure(line_buffering=True)
run(*sys.argv[1:])
