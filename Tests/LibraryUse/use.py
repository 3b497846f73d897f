"""Uses libreveille as it may be used without a loop, and as it must not be used: every fault is an
error's number, and never a crash.

  use.py FEED KEY SERVICE DIRECTORY SEED < SECRET

The secret matches what FEED has published. Prints "sound" at its end. The process has OpenSSL,
SQLite and libcurl of its own before it loads the library.
"""

import ctypes
import os
import random
import select
import signal
import socket
import sqlite3
import ssl
import sys
import threading
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p, sizeof

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Examples", "Python"))
import reveille
from reveille import Outcome, PushToken

OK, ARGUMENT, SIZE, CLOSED, IN_CALLBACK, STARTED, NOT_POLLED = range(7)
CANCELLED = 8
UNKNOWN_MATCH, LOCKED, FEED_URL, SERVICE_URL, FEED_KEY, SERVICE_MISSING = 9, 40, 60, 61, 62, 63
PROXY, BUDGET, STILL_REGISTERED, TOO_LONG, MALFORMED = 65, 66, 82, 83, 84
BUS, BUS_NAME, VAPID_KEY, RELAY_URL = 85, 86, 87, 69
UNWITNESSED, WITNESSES, NO_QUORUM = 31, 68, 18
NAME, SECRET_SIZE, EXISTS, SAME, MISSING = range(101, 106)

FEED, KEY, SERVICE, DIRECTORY, SEED = sys.argv[1:]
SECRET = sys.stdin.buffer.read()


def own_libraries():
    """What the process has by itself works."""
    assert ssl.create_default_context() is not None
    memory = sqlite3.connect(":memory:")
    assert memory.execute("SELECT sqlite_version()").fetchone()
    curl = ctypes.CDLL("libcurl.so.4")
    assert curl.curl_global_init(3) == 0
    curl.curl_easy_init.restype = c_void_p
    assert curl.curl_easy_init()


# A failure on any thread ends the process.
threading.excepthook = lambda failure: (sys.__excepthook__(*failure[:3]), os._exit(1))
own_libraries()
os.environ["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nowhere"
library = ctypes.CDLL("libreveille.so.0")
library.reveille_error_text.restype = c_char_p
library.reveille_free.restype = None


def call(name, *arguments):
    return getattr(library, "reveille_" + name)(*arguments)


def expect(error, name, *arguments):
    found = call(name, *arguments)
    assert found == error, "%s%r: %d instead of %d" % (name, arguments, found, error)


def no_match(context, match):
    return reveille.LATER


def callbacks(match=no_match, status=None):
    made = reveille.Callbacks(sizeof(reveille.Callbacks), None, reveille.ON_MATCH(match))
    if status:
        made.status = reveille.ON_STATUS(status)
    return made


def configuration(**members):
    made = reveille.Configuration(
        sizeof(reveille.Configuration), FEED.encode(), KEY.encode(), SERVICE.encode(), reveille.STREAM,
        DIRECTORY.encode())
    for name, value in members.items():
        setattr(made, name, value)
    return made


def opened(functions):
    handle = c_void_p()
    expect(OK, "open", byref(configuration()), byref(functions), byref(handle))
    assert handle.value
    return handle


# Every function of one client, with arguments that are sound but for the client.
def calls():
    status, outcome = reveille.Status(sizeof(reveille.Status)), Outcome(sizeof(Outcome))
    token = PushToken(sizeof(PushToken), 1, b"ab" * 32)
    return [
        ("start",), ("start_polled", byref(c_int())), ("dispatch",), ("wake", reveille.PUSH),
        ("synchronize", reveille.MANUAL, byref(outcome)), ("acknowledge", b"00" * 16),
        ("get_status", byref(status)), ("status_json", byref(c_void_p())),
        ("add_secret", b"a", b"x" * 16, c_size_t(16)), ("remove_secret", b"a"),
        ("secret_names", byref(c_void_p())), ("register", byref(token)), ("unregister",),
        ("use_distributor", b"org.example.App", b"org.unifiedpush.Distributor.none", None),
        ("reconcile",), ("start_over",), ("erase", 0), ("close",)]


def clients_that_are_none():
    for name, *rest in calls():
        expect(ARGUMENT, name, None, *rest)
        for number in (1 << 40 | 1, 2, 4096, 2**64 - 1):
            expect(CLOSED, name, c_void_p(number), *rest)
    call("free", None)


def opening():
    handle, functions = c_void_p(), callbacks()
    sound = configuration()
    expect(ARGUMENT, "open", None, byref(functions), byref(handle))
    expect(ARGUMENT, "open", byref(sound), None, byref(handle))
    expect(ARGUMENT, "open", byref(sound), byref(functions), None)
    expect(ARGUMENT, "open", byref(sound), byref(reveille.Callbacks(sizeof(reveille.Callbacks))),
           byref(handle))
    former = reveille.Configuration.witnesses.offset
    for size in (0, 1, former - 8, former + 1, sizeof(reveille.Configuration) + 8, 2**63):
        expect(SIZE, "open", byref(configuration(size=size)), byref(functions), byref(handle))
    functions.size -= 8
    expect(SIZE, "open", byref(sound), byref(functions), byref(handle))
    functions.size += 8
    for error, members in [
        (ARGUMENT, {"feed": None}), (ARGUMENT, {"feed_key": None}), (ARGUMENT, {"channel": 7}),
        (ARGUMENT, {"state_directory": None}), (ARGUMENT, {"feed": b"http://\xff\xfe/"}),
        (ARGUMENT, {"channel": -1}), (FEED_URL, {"feed": b"http://example.org/"}),
        (SERVICE_URL, {"service": b"gopher://example.org"}), (FEED_KEY, {"feed_key": b"short"}),
        (SERVICE_MISSING, {"service": None}), (PROXY, {"proxy_host": b"", "proxy_port": 1}),
        (BUDGET, {"daily_byte_budget": 1}), (WITNESSES, {"witnesses": b"nonsense"}),
        (WITNESSES, {"witnesses": b""}), (WITNESSES, {"witnesses": b"quorum none\n" * 2}),
        (ARGUMENT, {"witnesses": b"\xff"}),
        (RELAY_URL, {"oblivious": b"http://example.org/"}),
        (RELAY_URL, {"oblivious": b"https://relay.example/", "service": None, "channel": 0}),
        (ARGUMENT, {"oblivious": b"https://\xff/"}),
    ]:
        expect(error, "open", byref(configuration(**members)), byref(functions), byref(handle))
    assert not handle.value
    # What comes after the end of an earlier header's structure is not read.
    expect(OK, "open", byref(configuration(size=former, witnesses=b"nonsense")), byref(functions),
           byref(handle))
    expect(OK, "close", handle)
    for number in list(range(-10, 200)) + [2**31 - 1, -2**31]:
        assert call("error_text", number)


def one_client():
    functions = callbacks()
    handle = opened(functions)
    expect(LOCKED, "open", byref(configuration()), byref(functions), byref(c_void_p()))
    expect(NOT_POLLED, "dispatch", handle)
    expect(ARGUMENT, "start_polled", handle, None)
    for reason in (-1, 2, 99):
        expect(ARGUMENT, "wake", handle, reason)
        expect(ARGUMENT, "synchronize", handle, reason, None)
    expect(SIZE, "synchronize", handle, reveille.MANUAL, byref(Outcome(3)))
    expect(SIZE, "get_status", handle, byref(reveille.Status(3)))
    expect(ARGUMENT, "get_status", handle, None)
    expect(ARGUMENT, "status_json", handle, None)
    for text in (None, b"", b"x" * 32, b"00", b"\xff" * 32, b"00" * 17):
        expect(ARGUMENT, "acknowledge", handle, text)
    expect(UNKNOWN_MATCH, "acknowledge", handle, b"00" * 16)
    secrets(handle)
    tokens(handle)
    distributors(handle)
    text = c_void_p()
    expect(OK, "status_json", handle, byref(text))
    assert ctypes.string_at(text.value).startswith(b'{"registration":"none"')
    call("free", text)
    expect(OK, "close", handle)
    for name, *rest in calls():
        expect(CLOSED, name, handle, *rest)


def secrets(handle):
    def add(name, secret, size=None):
        size = len(secret or b"") if size is None else size
        return "add_secret", handle, name, secret, c_size_t(size)
    for name in (b"", b".hidden", b"a/b", b"a b", b"x" * 65, "é".encode()):
        expect(NAME, *add(name, b"y" * 16))
    for size in (0, 15, 1025, 2**63, 2**64 - 1):
        expect(SECRET_SIZE, *add(b"a", b"y" * 16, size))
    expect(ARGUMENT, *add(None, b"y" * 16))
    expect(ARGUMENT, *add(b"a", None, 16))
    expect(ARGUMENT, *add(b"\xff", b"y" * 16))
    expect(OK, *add(b"a", b"y" * 16))
    expect(OK, *add(b"a", b"y" * 16))
    expect(EXISTS, *add(b"a", b"z" * 16))
    expect(SAME, *add(b"b", b"y" * 16))
    expect(MISSING, "remove_secret", handle, b"b")
    expect(OK, *add(b"b-2", b"z" * 1024))
    names = c_void_p()
    expect(OK, "secret_names", handle, byref(names))
    assert ctypes.string_at(names.value) == b"a\nb-2\n"
    call("free", names)
    expect(OK, "remove_secret", handle, b"a")
    expect(OK, "remove_secret", handle, b"b-2")
    expect(MISSING, "remove_secret", handle, b"a")


def tokens(handle):
    def token(*members, size=sizeof(PushToken)):
        return "register", handle, byref(PushToken(size, *members))
    expect(ARGUMENT, "register", handle, None)
    expect(SIZE, *token(1, b"ab", size=8))
    expect(ARGUMENT, *token(0, b"ab"))
    expect(ARGUMENT, *token(9, b"ab"))
    expect(ARGUMENT, *token(1, None))
    expect(MALFORMED, *token(1, b"not hexadecimal"))
    expect(MALFORMED, *token(4, b"ftp://example.org"))
    expect(TOO_LONG, *token(4, b"https://example.org/" + b"x" * 2000))
    expect(ARGUMENT, *token(4, b"https://example.org/x", b"key"))
    expect(ARGUMENT, *token(1, b"ab" * 32, b"key", b"auth"))


def distributors(handle):
    names = c_void_p()
    expect(ARGUMENT, "distributors", None)
    expect(BUS, "distributors", byref(names))
    assert not names.value
    app, distributor = b"org.example.App", b"org.unifiedpush.Distributor.none"
    for words in ((None, distributor), (app, None), (app, b"\xff")):
        expect(ARGUMENT, "use_distributor", handle, *words, None)
    for words in ((b"app", distributor), (app, b"org.example.None"), (b"", distributor)):
        expect(BUS_NAME, "use_distributor", handle, *words, None)
    expect(VAPID_KEY, "use_distributor", handle, app, distributor, b"key")
    # There is no bus: it is tried again and again.
    expect(OK, "use_distributor", handle, app, distributor, None)
    expect(STARTED, "use_distributor", handle, app, distributor, None)
    expect(OK, "unregister", handle)
    expect(OK, "use_distributor", handle, app, distributor, None)


def numbers(folder):
    """What this process has there: "fd", or "task" for its threads."""
    return {int(name) for name in os.listdir("/proc/self/" + folder)}


def started(turn):
    handle, descriptor = opened(CALLBACKS), c_int(-1)
    if turn == 0:
        expect(OK, "start", handle)
    else:
        expect(OK, "start_polled", handle, byref(descriptor))
        # The first status.
        assert select.select([descriptor], [], [])
    return handle


CALLBACKS = callbacks()
c_int.fileno = lambda number: number.value


def opened_again_and_again():
    """Nothing of a client that is closed is left: not its lock, no thread, no descriptor."""
    expect(OK, "close", started(0))
    before = len(numbers("fd"))
    for turn in range(60):
        expect(OK, "close", started(turn % 2) if turn % 3 else opened(CALLBACKS))
    # A thread that fetches closes its descriptors when it ends, a moment later. Some are made once
    # for the process, with the first client that runs.
    while len(numbers("fd")) > before + 8:
        os.sched_yield()
    # Dispatch keeps some threads that have nothing to do.
    while len(numbers("task")) > 64:
        os.sched_yield()


def beside_the_program():
    """Its threads take no signal of the program's, its descriptors go to no child."""
    threads, descriptors = numbers("task"), numbers("fd")
    handle = started(1)
    expect(OK, "synchronize", handle, reveille.MANUAL, None)
    expect(OK, "dispatch", handle)
    blocked = sum(1 << number - 1 for number in (
        signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGALRM, signal.SIGUSR1,
        signal.SIGHUP))
    for number in numbers("task") - threads:
        try:
            lines = open("/proc/self/task/%d/status" % number).read().split("\n")
        except OSError:
            continue
        mask = int(next(line for line in lines if line.startswith("SigBlk")).split()[1], 16)
        assert mask & blocked == blocked, "%x" % mask
    for number in numbers("fd") - descriptors:
        try:
            flags = open("/proc/self/fdinfo/%d" % number).read().split("flags:")[1].split()[0]
            name = os.readlink("/proc/self/fd/%d" % number)
        except OSError:
            continue
        # libcurl 7.88 does not mark the pair of Unix sockets by which it wakes itself.
        is_pair = name[len("socket:["):-1] in open("/proc/net/unix").read().split()
        assert int(flags, 8) & os.O_CLOEXEC or is_pair, name
    expect(OK, "close", handle)


def closed_while_it_checks():
    """A check that waits for a server ends when its client is closed."""
    server = socket.create_server(("127.0.0.1", 0))
    handle = c_void_p()
    silent = configuration(
        state_directory=DIRECTORY.encode() + b"-silent", channel=0, service=None,
        feed=b"http://127.0.0.1:%d/" % server.getsockname()[1])
    expect(OK, "open", byref(silent), byref(CALLBACKS), byref(handle))
    check = threading.Thread(
        target=expect, args=(CANCELLED, "synchronize", handle, reveille.MANUAL, None))
    check.start()
    connection = server.accept()
    expect(OK, "close", handle)
    check.join()


def without_a_loop():
    """A program that is started for each check: callbacks come on the thread that checks."""
    told = []

    def on_match(context, match):
        assert match.contents.size == sizeof(reveille.Match)
        told.append((match.contents.secret, threading.get_ident()))
        return reveille.DELIVERED

    functions, handle = callbacks(on_match), c_void_p()
    other = configuration(state_directory=DIRECTORY.encode() + b"-once", channel=0)
    expect(OK, "open", byref(other), byref(functions), byref(handle))
    expect(OK, "add_secret", handle, b"visit", SECRET, c_size_t(len(SECRET)))
    outcome = Outcome(sizeof(Outcome))
    expect(OK, "synchronize", handle, reveille.MANUAL, byref(outcome))
    assert (outcome.result, outcome.batches, outcome.matches) == (1, 1, 1)
    assert told == [(b"visit", threading.get_ident())]
    expect(OK, "synchronize", handle, reveille.MANUAL, byref(outcome))
    assert outcome.result == 0 and len(told) == 1
    for function, arguments, state in [
        ("register", [byref(PushToken(sizeof(PushToken), 1, b"ab" * 32))], 1),
        ("unregister", [], 0),
    ]:
        expect(OK, function, handle, *arguments)
        expect(STILL_REGISTERED, "erase", handle, 0)
        expect(OK, "reconcile", handle)
        status = reveille.Status(sizeof(reveille.Status))
        expect(OK, "get_status", handle, byref(status))
        assert (status.registration, status.registration_failure) == (state, OK)
    expect(OK, "start_over", handle)
    expect(OK, "synchronize", handle, reveille.MANUAL, byref(outcome))
    assert (outcome.result, outcome.matches, len(told)) == (1, 0, 1)
    expect(OK, "erase", handle, 0)
    expect(OK, "close", handle)


def witnessed():
    """A head that no witness has cosigned is not believed under a policy that asks for one."""
    key = b"witness.example/c+62f396c8+BCFS+NGbeR0kRTJC4V8uq2y3z/p7al7TAJeWDgaYgdsS"
    for policy, error, warnings in [
        (b"witness w " + key + b"\nquorum w\n", UNWITNESSED, [(NO_QUORUM, b"no-quorum")]),
        (b"quorum none\n", OK, []),
    ]:
        told, functions, handle = [], callbacks(), c_void_p()
        functions.warning = reveille.ON_WARNING(lambda context, warning: told.append(
            (warning.contents.code, warning.contents.name)))
        made = configuration(
            state_directory=DIRECTORY.encode() + b"-witnessed-%d" % error, channel=0,
            witnesses=policy)
        expect(OK, "open", byref(made), byref(functions), byref(handle))
        for _ in range(2):
            expect(error, "synchronize", handle, reveille.MANUAL, None)
        assert told == warnings, told
        expect(OK, "close", handle)


def inside_callbacks():
    """Nothing that waits for callbacks may be called from one; all else may, also on the thread."""
    found, told = {}, threading.Event()

    def on_match(context, match):
        if not found:
            for name, *rest in calls():
                if name in ("erase", "start_over", "close", "dispatch", "synchronize", "reconcile"):
                    found[name] = (call(name, handle, *rest), IN_CALLBACK)
            for name, *rest in calls():
                if name in ("wake", "get_status", "add_secret", "remove_secret"):
                    found[name] = (call(name, handle, *rest), OK)
            found["start"] = (call("start", handle), STARTED)
            found["acknowledge"] = (call("acknowledge", handle, match.contents.id), OK)
        told.set()
        # Acknowledged already.
        return reveille.LATER

    functions = callbacks(on_match)
    handle = opened(functions)
    expect(OK, "add_secret", handle, b"visit", SECRET, c_size_t(len(SECRET)))
    expect(OK, "start", handle)
    expect(STARTED, "start_polled", handle, byref(c_int()))
    told.wait()
    expect(OK, "close", handle)
    for name, (number, wanted) in found.items():
        assert number == wanted, "%s in a callback: %d" % (name, number)
    assert len(found) == 12


def closed_in_a_callback():
    """Closing waits for the callback that runs, and none comes after it."""
    inside, go_on, count = threading.Event(), threading.Event(), [0]

    def on_status(context, status):
        count[0] += 1
        inside.set()
        go_on.wait()

    functions = callbacks(status=on_status)
    handle = opened(functions)
    expect(OK, "start", handle)
    inside.wait()
    closed = threading.Thread(target=lambda: expect(OK, "close", handle))
    closed.start()
    # Others cannot find it any more, and the callback still runs.
    while call("wake", handle, reveille.PUSH) != CLOSED:
        pass
    assert closed.is_alive()
    before = count[0]
    go_on.set()
    closed.join()
    assert count[0] == before
    expect(OK, "close", opened(callbacks()))


def many_threads(seed):
    """Random calls from several threads while the client is closed."""
    chance = random.Random(seed)
    functions = callbacks()
    for _ in range(5):
        handle = opened(functions)
        faults = []

        def work(seed):
            chance = random.Random(seed)
            for _ in range(60):
                name, *rest = chance.choice(calls()[:-1])
                if name in ("reconcile", "erase", "start_over", "register", "use_distributor"):
                    continue
                rest = [None if chance.random() < 0.1 and not isinstance(value, (int, c_size_t))
                        else value for value in rest]
                error = call(name, handle, *rest)
                if not 0 <= error <= 105 or call("error_text", error).startswith(b"a number"):
                    faults.append((name, error))

        threads = [
            threading.Thread(target=work, args=(chance.random(),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(chance.randrange(2000)):
            pass
        expect(OK, "close", handle)
        for thread in threads:
            thread.join()
        assert faults == [], faults


clients_that_are_none()
opening()
one_client()
opened_again_and_again()
beside_the_program()
closed_while_it_checks()
without_a_loop()
witnessed()
inside_callbacks()
closed_in_a_callback()
many_threads(int(SEED))
own_libraries()
print("sound")
