"""Watches a feed from an asyncio loop, and prints matches and warnings. Needs libreveille.so.0 and
nothing but Python's own library.

  watch.py FEED KEY SERVICE DIRECTORY NAME [later] < SECRET

State is kept in DIRECTORY. Standard input, unless it is empty, is added as a secret called NAME.
SIGUSR1 stands for a platform's push, SIGTERM ends. With "later" no match is acknowledged.
"""

import asyncio
import ctypes
import signal
import sys
from ctypes import (
    CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int64, c_size_t, c_uint16, c_uint64,
    c_void_p, sizeof)

STREAM, MANUAL, PUSH, LATER, DELIVERED, CONNECTED = 1, 0, 1, 0, 1, 2


class Match(Structure):
    _fields_ = [
        ("size", c_size_t), ("id", c_char_p), ("secret", c_char_p), ("note", c_void_p),
        ("note_size", c_size_t), ("sequence", c_uint64)]


class Warning(Structure):
    _fields_ = [
        ("size", c_size_t), ("code", c_int), ("name", c_char_p), ("number", c_int64),
        ("first", c_uint64), ("last", c_uint64), ("since", c_int64)]


class Status(Structure):
    _fields_ = [("size", c_size_t)] + [
        (name, c_int) for name in (
            "running", "check_failure", "registration", "registration_failure", "stream",
            "stream_http_status", "retired", "forked", "shares_origin", "former_services")
    ] + [
        (name, c_uint64) for name in (
            "sequence", "first_unchecked", "last_unchecked", "matches_waiting", "batches_waiting")
    ] + [
        (name, c_int64) for name in (
            "waiting_until", "last_verified", "last_checked", "paused_until", "running_since",
            "next_check")]


ON_MATCH = CFUNCTYPE(c_int, c_void_p, POINTER(Match))
ON_WARNING = CFUNCTYPE(None, c_void_p, POINTER(Warning))
ON_STATUS = CFUNCTYPE(None, c_void_p, POINTER(Status))
ON_END = CFUNCTYPE(None, c_void_p, c_int)


class Callbacks(Structure):
    _fields_ = [
        ("size", c_size_t), ("context", c_void_p), ("match", ON_MATCH), ("warning", ON_WARNING),
        ("status", ON_STATUS), ("ended", ON_END)]


class Configuration(Structure):
    _fields_ = [
        ("size", c_size_t), ("feed", c_char_p), ("feed_key", c_char_p), ("service", c_char_p),
        ("channel", c_int), ("state_directory", c_char_p), ("cache_directory", c_char_p),
        ("proxy_host", c_char_p), ("proxy_port", c_uint16), ("daily_byte_budget", c_uint64),
        ("cache_capacity", c_int64)]


class Failure(Exception):
    """An error of the library."""


class Client:
    """A client whose callbacks are methods, called by the running asyncio loop."""

    def __init__(self, feed, key, service, directory, later):
        self.library = ctypes.CDLL("libreveille.so.0")
        self.library.reveille_error_text.restype = c_char_p
        self.later = later
        self.ended = asyncio.Event()
        # Kept for as long as the library may call them: Python would free them otherwise.
        self.callbacks = Callbacks(
            sizeof(Callbacks), None, ON_MATCH(self.on_match), ON_WARNING(self.on_warning),
            ON_STATUS(self.on_status), ON_END(self.on_end))
        configuration = Configuration(
            sizeof(Configuration), feed.encode(), key.encode(), service.encode(), STREAM,
            directory.encode())
        self.handle = c_void_p()
        self.call("open", byref(configuration), byref(self.callbacks), byref(self.handle))

    def call(self, name, *arguments):
        error = getattr(self.library, "reveille_" + name)(*arguments)
        if error:
            raise Failure(self.library.reveille_error_text(error).decode())

    def start(self):
        descriptor = c_int()
        self.call("start_polled", self.handle, byref(descriptor))
        asyncio.get_running_loop().add_reader(
            descriptor.value, self.call, "dispatch", self.handle)
        self.descriptor = descriptor.value

    def close(self):
        asyncio.get_running_loop().remove_reader(self.descriptor)
        self.call("close", self.handle)

    def on_match(self, context, match):
        # An exception in a callback is printed and returns 0: LATER.
        match = match.contents
        note = ctypes.string_at(match.note, match.note_size).decode(errors="replace")
        print(
            "left for later:" if self.later else "this concerns you:", match.secret.decode(),
            match.id.decode(), note)
        return LATER if self.later else DELIVERED

    def on_warning(self, context, warning):
        print("warning:", warning.contents.name.decode())

    def on_status(self, context, status):
        status = status.contents
        print("status: %s, %d batches checked, %d matches waiting" % (
            "connected" if status.stream == CONNECTED else "not connected",
            status.sequence, status.matches_waiting))

    def on_end(self, context, error):
        print("ended:", self.library.reveille_error_text(error).decode())
        self.ended.set()


async def watch(feed, key, service, directory, name, *words):
    client = Client(feed, key, service, directory, later="later" in words)
    secret = sys.stdin.buffer.read()
    if secret:
        client.call("add_secret", client.handle, name.encode(), secret, c_size_t(len(secret)))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, client.call, "wake", client.handle, PUSH)
    loop.add_signal_handler(signal.SIGTERM, client.ended.set)
    client.start()
    print("running")
    await client.ended.wait()
    client.close()


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    sys.stdout.reconfigure(line_buffering=True)
    try:
        asyncio.run(watch(*sys.argv[1:]))
    except Failure as failure:
        sys.exit("failed: %s" % failure)
