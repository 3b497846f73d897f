"""Exposure notifications with Reveille, needing Python's own library and two programs: reveille on
the health authority's server, reveille-client on each phone.

  On a phone:
    exposure.py beacon KEYS                 prints the identifier that the radio sends now
    exposure.py hear [WORDS]                adds identifiers that the radio heard, one a line
    exposure.py tell                        the client's --on-match
    exposure.py forget KEYS [WORDS]         deletes what is older than 14 days
  At the authority:
    exposure.py publish DAY [WORDS] < KEY   publishes the day's identifiers of somebody who is ill

KEYS is a directory of the phone with a key for each day; who is ill hands out the keys of the days
on which others could be infected. WORDS are passed to reveille-client (hear, forget) or reveille
(publish), such as --state DIR. The time is now, or that of the variable EXPOSURE_NOW.
"""

import datetime
import hashlib
import hmac
import os
import pathlib
import secrets
import subprocess
import sys
import tempfile

MINUTES, DAYS = 15, 14


def now():
    seconds = os.environ.get("EXPOSURE_NOW")
    zone = datetime.timezone.utc
    return datetime.datetime.fromtimestamp(int(seconds), zone) if seconds else (
        datetime.datetime.now(zone))


def identifier(key, interval):
    """What the radio sends in one interval of a day: 16 bytes that say nothing without the key."""
    return hmac.new(key, b"exposure/1 %d" % interval, hashlib.sha256).digest()[:16]


def interval_of(time):
    return (time.hour * 60 + time.minute) // MINUTES


def beacon(directory):
    path = pathlib.Path(directory) / now().date().isoformat()
    if not path.exists():
        path.parent.mkdir(mode=0o700, exist_ok=True)
        # Beside its place first: a key that is half there would be another one later.
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(secrets.token_hex(32))
            os.fsync(file.fileno())
        os.rename(file.name, path)
    print(identifier(bytes.fromhex(path.read_text()), interval_of(now())).hex())


def hear(*words):
    """Others' identifiers are this phone's secrets, named by the time: it comes with a match."""
    known = {name.rsplit(".")[-1] for name in secret_names(words)}
    for line in sys.stdin.read().split():
        mark = hashlib.sha256(bytes.fromhex(line)).hexdigest()[:16]
        # One is heard many times in a quarter of an hour.
        if mark not in known:
            known.add(mark)
            name = now().strftime("%Y-%m-%d.%H%M.") + mark
            subprocess.run(
                ["reveille-client", "secrets", "add", name, *words], input=line, text=True,
                check=True)


def tell():
    """Exit status 0 acknowledges: it is not told again."""
    day, time = os.environ["REVEILLE_SECRET_ID"].split(".")[:2]
    print("on %s at %s:%s UTC you were near somebody who is ill" % (day, time[:2], time[2:4]))
    print(sys.stdin.read(), flush=True)


def secret_names(words):
    return subprocess.run(
        ["reveille-client", "secrets", "list", *words], check=True, capture_output=True,
        text=True).stdout.split()


def forget(directory, *words):
    oldest = (now().date() - datetime.timedelta(days=DAYS)).isoformat()
    for path in pathlib.Path(directory).iterdir():
        if path.name[:10] < oldest:
            path.unlink()
    for name in secret_names(words):
        if name[:10] < oldest:
            subprocess.run(["reveille-client", "secrets", "remove", name, *words], check=True)


def publish(day, *words):
    """The feed has digests of the identifiers: nobody who has not heard one learns anything."""
    key = bytes.fromhex(sys.stdin.read())
    items = [identifier(key, interval).hex() for interval in range(24 * 60 // MINUTES)]
    with tempfile.NamedTemporaryFile("w") as note:
        note.write("Please take a test: it is said to be so since %s.\n" % day)
        note.flush()
        subprocess.run(
            ["reveille", "feed", "publish", "-", "--secrets", "--note-file", note.name,
             "--then-broadcast", *words],
            input="\n".join(items), text=True, check=True)


if __name__ == "__main__":
    commands = {f.__name__: f for f in (beacon, hear, tell, forget, publish)}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    try:
        commands[sys.argv[1]](*sys.argv[2:])
    except subprocess.CalledProcessError as failure:
        sys.exit(failure.returncode)
