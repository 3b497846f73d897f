"""The shortest program: watches a feed until it is ended, and prints what concerns it.

  hello.py FEED KEY SERVICE DIRECTORY
"""

import signal
import sys

import reveille


def on_match(match):
    print("this concerns you:", match.secret, (match.note or b"").decode(), flush=True)
    return True


feed, key, service, directory = sys.argv[1:]
client = reveille.Client(feed, key, directory, on_match, service=service)
client.add_secret("visit", b"a secret of this device, the first")
client.start()
signal.pause()  # or whatever the program does
