"""The program of a match in the short form: says how many connections of its client to the feed are open
when it starts, as the kernel knows it, and ends when the origin lets it.

usage: program.py SOCKET NAME PORT
"""

import socket
import sys

path, name, port = sys.argv[1:]
with open("/proc/net/tcp") as table:
    rows = [line.split() for line in table][1:]
# Established (include/net/tcp_states.h), from the client's side.
count = sum(row[2].endswith(f":{int(port):04X}") and row[3] == "01" for row in rows)
with socket.socket(socket.AF_UNIX) as origin:
    origin.connect(path)
    origin.sendall(f"{name} {count}\n".encode())
    origin.recv(16)
