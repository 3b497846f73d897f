"""A UnifiedPush distributor with Debian's python3-dbus and python3-gi, of one registration.

  distributor.py ENDPOINT

SIGUSR1 stands for a push that it has received.
"""

import signal
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME, PATH = "org.unifiedpush.Distributor.test", "/org/unifiedpush/Distributor"
INTERFACE = "org.unifiedpush.Distributor2"


class Distributor(dbus.service.Object):
    known = None

    @dbus.service.method(INTERFACE, in_signature="a{sv}", out_signature="a{sv}")
    def Register(self, arguments):
        self.known = arguments["service"], arguments["token"]
        self.tell("NewEndpoint", endpoint=sys.argv[1])
        return {"success": "REGISTRATION_SUCCEEDED"}

    @dbus.service.method(INTERFACE, in_signature="a{sv}", out_signature="a{sv}")
    def Unregister(self, arguments):
        assert arguments["token"] == self.known[1]
        print("unregistered")
        return dbus.Dictionary({}, signature="sv")

    def tell(self, member, **arguments):
        service, token = self.known
        connector = dbus.Interface(
            self.connection.get_object(service, "/org/unifiedpush/Connector", introspect=False),
            "org.unifiedpush.Connector2")
        connector.get_dbus_method(member)(
            dbus.Dictionary(dict(arguments, token=token), signature="sv"),
            reply_handler=lambda answer: print("answered", member), error_handler=print)

    def push(self):
        self.tell("Message", message=dbus.ByteArray(b"x"))
        return GLib.SOURCE_CONTINUE


sys.stdout.reconfigure(line_buffering=True)
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
name = dbus.service.BusName(NAME, bus)
distributor = Distributor(bus, PATH)
GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGUSR1, distributor.push)
print("ready")
GLib.MainLoop().run()
