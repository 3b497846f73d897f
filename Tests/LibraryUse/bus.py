"""The example watch.py by `reveille-client run --dbus`, with Debian's python3-dbus and python3-gi.
Takes the words of lines.py; DBUS_SESSION_BUS_ADDRESS names the bus.
"""

import os
import signal
import subprocess
import sys

import dbus
import dbus.mainloop.glib
from gi.repository import GLib

import lines

NAME, PATH = "org.reveille.Client1", "/org/reveille/Client1/profile_default"
PROPERTIES = "org.freedesktop.DBus.Properties"


def watch(program, feed, key, service, directory, name, *words):
    # The default profile, whose name on the bus is known, of a home in this directory.
    is_new = not os.path.exists(directory)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    environment = dict(
        os.environ, HOME=directory, XDG_STATE_HOME=directory + "/state",
        XDG_CACHE_HOME=directory + "/cache")
    lines.prepare(program, feed, key, service, name, is_new, environment=environment)
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus, loop = dbus.SessionBus(), GLib.MainLoop()

    def client(interface=NAME):
        return dbus.Interface(bus.get_object(NAME, PATH), interface)

    def match(id, secret, note):
        later = "later" in words
        print(
            "left for later:" if later else "this concerns you:", secret, id,
            bytes(note).decode())
        if not later:
            client().Acknowledge(id)

    def changed(interface, values, gone):
        if "Status" in values:
            lines.show(values["Status"])

    def appeared(owner):
        if owner:
            # What waited before this program could hear of it.
            client().Sync()
            lines.show(client(PROPERTIES).Get(NAME, "Status"))

    bus.add_signal_receiver(match, "Match", NAME, path=PATH)
    bus.add_signal_receiver(changed, "PropertiesChanged", PROPERTIES, path=PATH)
    bus.watch_name_owner(NAME, appeared)

    def start():
        run = subprocess.Popen(
            [program, "run", "--dbus"], env=environment, preexec_fn=lines.with_parent)
        stop = GLib.unix_signal_add(
            GLib.PRIORITY_DEFAULT, signal.SIGTERM,
            lambda: run.terminate() or GLib.SOURCE_CONTINUE)
        GLib.child_watch_add(GLib.PRIORITY_DEFAULT, run.pid, ended, stop)

    def ended(process, status, stop):
        GLib.source_remove(stop)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == lines.LOCKED:
            start()
        else:
            loop.quit()

    start()
    loop.run()


sys.stdout.reconfigure(line_buffering=True)
watch(*sys.argv[1:])
