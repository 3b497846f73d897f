#!/usr/bin/env python3
"""Sends pushes by aioapns to a service on this machine: PORT COUNT AUTHORITY KEY KEY-ID TEAM TOPIC.
Prints `accepted COUNT SECONDS`."""
import asyncio
import logging
import ssl
import sys
import time

from aioapns import APNs, NotificationRequest
from aioapns import connection

port, count, authority, key, key_id, team, topic = sys.argv[1:8]
count = int(count)
logging.disable(logging.CRITICAL)
for name in dir(connection):
    protocol = getattr(connection, name)
    if hasattr(protocol, "APNS_SERVER"):
        protocol.APNS_SERVER, protocol.APNS_PORT = "localhost", int(port)

# The far end gives no identifiers, and answers in order.
answered = connection.APNsBaseClientProtocol.on_response_received


def answer(protocol, headers):
    answered(protocol, {**headers, b"apns-id": next(iter(protocol.requests)).encode()})


connection.APNsBaseClientProtocol.on_response_received = answer


async def main():
    with open(key, encoding="ascii") as file:
        text = file.read()
    context = ssl.create_default_context(cafile=authority)
    context.set_alpn_protocols(["h2"])
    client = APNs(
        key=text, key_id=key_id, team_id=team, topic=topic, max_connections=1,
        ssl_context=context)
    body = {"aps": {"content-available": 1}}
    accepted = 0

    async def lane(first):
        nonlocal accepted
        for number in range(first, count, 500):
            result = await client.send_notification(
                NotificationRequest(device_token=f"{number:064x}", message=body))
            accepted += result.is_successful

    start = time.perf_counter()
    await asyncio.gather(*(lane(first) for first in range(500)))
    print("accepted", accepted, time.perf_counter() - start, flush=True)


asyncio.run(main())
