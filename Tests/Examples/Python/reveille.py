"""libreveille for Python: ctypes and nothing else. Copy this file; reveille.h says what each function
promises, and Deploy/LIBRARY.md shows the use.

    client = reveille.Client(
        feed="https://feed.example.org/", feed_key="…", service="https://wake.example.org",
        state_directory="state", on_match=lambda match: print(match.secret) or True)
    client.add_secret("visit", secret)
    client.start()          # or client.start_in(asyncio.get_running_loop())

Callbacks come on a thread of the library after start(), and in the loop after start_in(). An
exception in one is printed; a match is then left for later.
"""

import ctypes
from ctypes import (
    CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int64, c_size_t, c_uint16, c_uint64,
    c_void_p, sizeof)

POLL, STREAM = 0, 1
MANUAL, PUSH = 0, 1
LATER, DELIVERED = 0, 1
APNS, APNS_SANDBOX, FCM, WEB_PUSH = 1, 2, 3, 4
STREAM_CONNECTED = 2
UNREGISTERED, REGISTERED = 0, 1


def structure(name, *members):
    return type(name, (Structure,), {"_fields_": [("size", c_size_t)] + list(members)})


Match = structure(
    "Match", ("id", c_char_p), ("secret", c_char_p), ("note", c_void_p), ("note_size", c_size_t),
    ("sequence", c_uint64))
Warning = structure(
    "Warning", ("code", c_int), ("name", c_char_p), ("number", c_int64), ("first", c_uint64),
    ("last", c_uint64), ("since", c_int64), ("text", c_char_p))
Status = structure(
    "Status",
    *((name, c_int) for name in (
        "running", "check_failure", "registration", "registration_failure", "stream",
        "stream_http_status", "retired", "forked", "shares_origin", "former_services")),
    *((name, c_uint64) for name in (
        "sequence", "first_unchecked", "last_unchecked", "matches_waiting", "batches_waiting")),
    *((name, c_int64) for name in (
        "waiting_until", "last_verified", "last_checked", "paused_until", "running_since",
        "next_check")))
Outcome = structure(
    "Outcome", ("result", c_int), ("http_status", c_int), ("batches", c_uint64),
    ("matches", c_uint64), ("waiting", c_uint64), ("until", c_int64))
PushToken = structure(
    "PushToken", ("service", c_int), ("text", c_char_p), ("p256dh", c_char_p), ("auth", c_char_p))
Configuration = structure(
    "Configuration", ("feed", c_char_p), ("feed_key", c_char_p), ("service", c_char_p),
    ("channel", c_int), ("state_directory", c_char_p), ("cache_directory", c_char_p),
    ("proxy_host", c_char_p), ("proxy_port", c_uint16), ("daily_byte_budget", c_uint64),
    ("cache_capacity", c_int64), ("witnesses", c_char_p), ("oblivious", c_char_p))
ON_MATCH = CFUNCTYPE(c_int, c_void_p, POINTER(Match))
ON_WARNING = CFUNCTYPE(None, c_void_p, POINTER(Warning))
ON_STATUS = CFUNCTYPE(None, c_void_p, POINTER(Status))
ON_END = CFUNCTYPE(None, c_void_p, c_int)
Callbacks = structure(
    "Callbacks", ("context", c_void_p), ("match", ON_MATCH), ("warning", ON_WARNING),
    ("status", ON_STATUS), ("ended", ON_END))


class Error(Exception):
    """An error of the library: `number` is one of enum reveille_error."""

    def __init__(self, number):
        super().__init__(error_text(number))
        self.number = number


class Found:
    """A match, with its members as Python has them."""

    def __init__(self, match):
        self.id = match.id.decode()
        self.secret = match.secret.decode()
        self.note = match.note and ctypes.string_at(match.note, match.note_size)
        self.sequence = match.sequence


def library():
    """Loaded once; OSError where libreveille.so.0 is not found."""
    if not hasattr(library, "loaded"):
        library.loaded = ctypes.CDLL("libreveille.so.0")
        library.loaded.reveille_error_text.restype = c_char_p
        library.loaded.reveille_free.restype = None
    return library.loaded


def error_text(number):
    return library().reveille_error_text(number).decode()


def distributors():
    """The UnifiedPush distributors of this desktop."""
    names = c_void_p()
    error = library().reveille_distributors(byref(names))
    if error:
        raise Error(error)
    text = ctypes.string_at(names.value).decode()
    library().reveille_free(names)
    return text.split()


class Client:
    """A client of a feed. Callbacks: on_match(Found), which returns True when the user was told;
    on_warning(name, text); on_status(Status); on_end(number of an error, 0 for none)."""

    def __init__(
            self, feed, feed_key, state_directory, on_match, service=None, on_warning=None,
            on_status=None, on_end=None, **settings):
        def match(context, match):
            return DELIVERED if on_match(Found(match.contents)) else LATER

        def warning(context, warning):
            on_warning(warning.contents.name.decode(), warning.contents.text.decode())

        # Kept for as long as the library may call them: Python would free them otherwise.
        self.callbacks = Callbacks(
            sizeof(Callbacks), None, ON_MATCH(match),
            ON_WARNING(warning) if on_warning else ON_WARNING(),
            ON_STATUS(lambda context, status: on_status(status.contents)) if on_status
            else ON_STATUS(),
            ON_END(lambda context, error: on_end(error)) if on_end else ON_END())
        configuration = Configuration(
            sizeof(Configuration), feed.encode(), feed_key.encode(),
            service.encode() if service else None, STREAM if service else POLL,
            state_directory.encode())
        for name, value in settings.items():
            setattr(configuration, name, value.encode() if isinstance(value, str) else value)
        self.handle, self.loop = c_void_p(), None
        self.call("open", byref(configuration), byref(self.callbacks), byref(self.handle))

    def call(self, name, *arguments):
        """Calls reveille_NAME, and raises what it returns."""
        error = getattr(library(), "reveille_" + name)(*arguments)
        if error:
            raise Error(error)

    def start(self):
        self.call("start", self.handle)

    def descriptor(self):
        """Runs it without a thread: when this is readable, dispatch() calls back."""
        descriptor = c_int()
        self.call("start_polled", self.handle, byref(descriptor))
        return descriptor.value

    def dispatch(self):
        self.call("dispatch", self.handle)

    def start_in(self, loop):
        """Runs it in a loop of asyncio."""
        self.loop, self.watched = loop, self.descriptor()
        loop.add_reader(self.watched, self.dispatch)

    def close(self):
        if self.loop:
            self.loop.remove_reader(self.watched)
        self.call("close", self.handle)

    def wake(self, reason=PUSH):
        self.call("wake", self.handle, reason)

    def synchronize(self, reason=MANUAL):
        outcome = Outcome(sizeof(Outcome))
        self.call("synchronize", self.handle, reason, byref(outcome))
        return outcome

    def acknowledge(self, id):
        self.call("acknowledge", self.handle, id.encode())

    def status(self):
        status = Status(sizeof(Status))
        self.call("get_status", self.handle, byref(status))
        return status

    def add_secret(self, name, secret):
        self.call("add_secret", self.handle, name.encode(), secret, c_size_t(len(secret)))

    def remove_secret(self, name):
        self.call("remove_secret", self.handle, name.encode())

    def register(self, service, text, p256dh=None, auth=None):
        token = PushToken(
            sizeof(PushToken), service, text.encode(), p256dh and p256dh.encode(),
            auth and auth.encode())
        self.call("register", self.handle, byref(token))

    def use_distributor(self, app, distributor, vapid_key=None):
        """Has a UnifiedPush distributor wake it, one of distributors()."""
        self.call(
            "use_distributor", self.handle, app.encode(), distributor.encode(),
            vapid_key and vapid_key.encode())

    def unregister(self):
        self.call("unregister", self.handle)

    def reconcile(self):
        self.call("reconcile", self.handle)
