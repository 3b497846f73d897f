"""An origin on loopback that records what a stranger on the line sees of each client.

It serves a feed and stands in for the service: every client has two ports of its own, one for the feed
and one for the service, so that the stranger knows which packets are whose. Recorded of each connection
are the times of its accept, its requests, its answers and its end, and how many bytes they had.

A client's story: the head of the first batches; then, each time the connections of the feed have ended,
a newer head and a wake on the event stream, as often as there are rounds. With a time to hold batches back,
head and wake come within the check instead: when its last batch is asked for, which is answered that much
later. The process talks to its parent by a pipe:

    ("open", name, rounds, registers, hold)  →  ("opened", name, feed's port, service's port)
                                             →  ("over", name)  when the story is over
    ("close", name)                          →  ("closed", name, trace)
"""

import heapq
import itertools
import os
import selectors
import socket
import time

# Seconds from the end of a check to the next wake.
PAUSE = 0.3
ANSWER = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n"
STREAM = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
          b"Cache-Control: no-store\r\n\r\n: here\n\n")


class Feed:
    """The files of a published feed, and the head after each publication that clients are told of."""

    def __init__(self, heads, keys, batches):
        self.heads, self.keys, self.batches = heads, keys, batches

    def file(self, path, index):
        if path == "/feed/head":
            return self.heads[index]
        return self.keys if path == "/feed/keys" else self.batches.get(path.removeprefix("/feed/b/"))


class Client:
    """One client: its addresses, where its story is, and what was seen of it."""

    def __init__(self, name, rounds, registers, hold):
        self.name, self.rounds, self.registers, self.hold = name, rounds, registers, hold
        self.round, self.trace = 0, []
        # Open connections to the feed, and the stream's; programs that wait for the end of the story.
        self.fetching, self.stream, self.held = 0, None, []
        # Events that wait for a stream.
        self.events = []
        self.isChecked = self.isOver = False
        # Names of batches that were sent.
        self.batches = set()

    def note(self, role, kind, count=0):
        self.trace.append((time.monotonic_ns(), role, kind, count))


class Connection:
    def __init__(self, peer, client, role):
        self.peer, self.client, self.role, self.bytes = peer, client, role, b""


class Origin:
    def __init__(self, feed, pipe, programs):
        self.feed, self.pipe = feed, pipe
        # The newest batch of the first head.
        self.first = len(feed.batches) - len(feed.heads) + 1
        self.selector = selectors.DefaultSelector()
        self.clients, self.listeners = {}, {}
        # What is to be done at a time, and clients that have ended.
        self.due, self.numbers, self.closing = [], itertools.count(), []
        self.selector.register(pipe, selectors.EVENT_READ, self.order)
        # Programs of matches that ask whether they may end.
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(programs)
        listener.listen(1024)
        self.selector.register(listener, selectors.EVENT_READ, lambda: self.program(listener))

    def serve(self):
        while True:
            now = time.monotonic()
            wait = max(0, self.due[0][0] - now) if self.due else None
            ready = self.selector.select(0 if self.closing else wait)
            for key, _ in ready:
                key.data()
            # What a client sent before it ended is read first.
            while self.closing and not ready:
                self.close(self.closing.pop())
            while self.due and self.due[0][0] <= time.monotonic():
                *_, client, act = heapq.heappop(self.due)
                if self.clients.get(client.name) is client:
                    act()

    def later(self, seconds, client, act):
        heapq.heappush(self.due, (time.monotonic() + seconds, next(self.numbers), client, act))

    def order(self):
        try:
            verb, name, *rest = self.pipe.recv()
        except EOFError:
            os._exit(0)
        if verb == "open":
            client = self.clients[name] = Client(name, *rest)
            self.listeners[name] = [self.listen(client, role) for role in ("feed", "service")]
            ports = [listener.getsockname()[1] for listener in self.listeners[name]]
            self.pipe.send(("opened", name, *ports))
        else:
            self.closing.append(name)

    def close(self, name):
        client = self.clients.pop(name)
        for listener in self.listeners.pop(name):
            self.selector.unregister(listener)
            listener.close()
        self.pipe.send(("closed", name, client.trace))

    def listen(self, client, role):
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)

        def accept():
            peer, _ = listener.accept()
            client.note(role, "accept")
            peer.setblocking(False)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(peer, client, role)
            client.fetching += role == "feed"
            self.selector.register(peer, selectors.EVENT_READ, lambda: self.read(connection))

        self.selector.register(listener, selectors.EVENT_READ, accept)
        return listener

    def read(self, connection):
        client = connection.client
        try:
            received = connection.peer.recv(65536)
        except ConnectionError:
            received = b""
        if not received:
            client.note(connection.role, "end")
            self.selector.unregister(connection.peer)
            connection.peer.close()
            return self.ended(connection)
        connection.bytes += received
        while b"\r\n\r\n" in connection.bytes:
            head, _, rest = connection.bytes.partition(b"\r\n\r\n")
            fields = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:])
            length = int(fields.get("content-length", 0))
            if len(rest) < length:
                break
            _, path, _ = head.decode().split("\r\n")[0].split(" ")
            if connection.role == "service":
                connection.role = "stream" if path == "/v1/wakes" else "registration"
            client.note(connection.role, "request", len(head) + 4 + length)
            connection.bytes = rest[length:]
            self.answer(connection, path)

    def answer(self, connection, path):
        client = connection.client
        if connection.role == "stream":
            client.stream = connection
            self.send(connection, STREAM)
            return self.sendEvents(client)
        if connection.role == "registration":
            return self.send(connection, ANSWER % (b"204 No Content", 0))
        body = self.feed.file(path, client.round)
        status = b"200 OK" if body is not None else b"404 Not Found"
        answer = ANSWER % (status, len(body or b"")) + (body or b"")
        if "/b/" in path:
            client.batches.add(path)
            if client.hold and len(client.batches) == self.first + client.round:
                self.later(client.hold, client, lambda: self.send(connection, answer))
                return self.wake(client) if client.round < client.rounds else None
        return self.send(connection, answer)

    def send(self, connection, answer):
        connection.peer.setblocking(True)
        try:
            connection.peer.sendall(answer)
        except ConnectionError:
            return
        connection.peer.setblocking(False)
        connection.client.note(connection.role, "answer", len(answer))

    def ended(self, connection):
        client = connection.client
        if connection.role == "feed":
            client.fetching -= 1
            if client.fetching == 0 and client.hold:
                client.isChecked = len(client.batches) == self.first + client.rounds
                client.rounds = 0 if client.isChecked else client.rounds
            elif client.fetching == 0:
                client.isChecked = True
                if client.rounds > 0:
                    self.later(PAUSE, client, lambda: self.wake(client))
                if client.round == 0:
                    # Nothing is missed: the first event of a stream says what the client knows.
                    self.event(client)
        elif connection.role == "registration":
            client.registers = False
        elif client.stream is connection:
            client.stream = None
        self.check(client)

    def wake(self, client):
        if client.round < client.rounds:
            client.round += 1
            client.note("feed", "wake")
            self.event(client)
        else:
            client.rounds = 0
            self.check(client)

    def event(self, client):
        sequence = self.first + client.round
        client.events.append(f"retry: 1000\nid: {sequence}\nevent: wake\ndata: {sequence}\n\n")
        self.sendEvents(client)

    def sendEvents(self, client):
        """Each by itself, as soon as there is a stream."""
        while client.stream and client.events:
            self.send(client.stream, client.events.pop(0).encode())

    def check(self, client):
        """Whether the story is over."""
        if not client.isChecked or client.rounds > 0 or client.registers or client.isOver:
            return
        client.isOver = True
        for program in client.held:
            self.release(program)
        self.pipe.send(("over", client.name))

    def program(self, listener):
        program, _ = listener.accept()
        with program.makefile() as lines:
            words = lines.readline().split()
        client = self.clients.get(words[0]) if words else None
        if client is None:
            # It was ended with its client, or its client has ended.
            return self.release(program)
        connections = words[1]
        # A program takes a while to start: a later wake may have been sent meanwhile.
        isEarly = len(client.batches) < self.first
        client.note("program", "early" if isEarly else "start", int(connections))
        # Held until the story is over, which so does not depend on it.
        if isEarly or client.isOver or client.fetching > 0 and client.rounds == 0:
            self.release(program)
        else:
            client.held.append(program)

    def release(self, program):
        """Lets a program end, which a signal may have ended already."""
        try:
            program.sendall(b"end\n")
        except ConnectionError:
            pass
        program.close()
