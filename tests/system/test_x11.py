"""Windows of tasks on the display of srun's host (srun --x11): through a display on the node that only the job's user can use.

The X server is a small one of this file that knows the greeting and sends everything back; the cookie is kept by Debian's xauth.
"""

import secrets
import shutil
import socket
import struct
import subprocess
import sys
import threading

import pytest

from cluster import limit

XAUTH = shutil.which("xauth")
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
pytestmark = pytest.mark.skipif(XAUTH is None, reason="xauth is not installed")

KIND = b"MIT-MAGIC-COOKIE-1"

# What a program of X does, in a few lines: finds its cookie in XAUTHORITY, greets, says something, reads the answer.
CLIENT = r'''
import os, socket, struct, sys
data = open(os.environ["XAUTHORITY"], "rb").read()
fields, at = [], 2
for _ in range(4):
    (size,) = struct.unpack_from(">H", data, at)
    fields.append(data[at + 2:at + 2 + size])
    at += 2 + size
display = os.environ["DISPLAY"]
number, screen = display.split(":")[1].split(".")
assert fields[1].decode() == number, (fields, display)
cookie = fields[3] if len(sys.argv) < 2 else b"x" * 16
connection = socket.create_connection(("127.0.0.1", 6000 + int(number)), timeout=LIMIT)
pad = lambda b: b + bytes(-len(b) % 4)
connection.sendall(b"l\0" + struct.pack("<HHHHH", 11, 0, len(fields[2]), len(cookie), 0) + pad(fields[2]) + pad(cookie))
payload = os.urandom(3_000_000)
import threading
threading.Thread(target=lambda: connection.sendall(payload), daemon=True).start()
got = b""
try:
    while len(got) < len(payload):
        more = connection.recv(65536)
        if not more: break
        got += more
except ConnectionError:
    pass
print("same" if got == payload else "refused" if not got else f"{len(got)} bytes", "screen", screen)
'''


class Display:
    """Accepts who shows the real cookie, and sends back what it gets."""

    def __init__(self):
        self.cookie = secrets.token_bytes(16)
        self.greeted = []
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.number = self.listener.getsockname()[1] - 6000
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        stream = connection.makefile("rb")
        head = stream.read(12)
        kind, cookie = struct.unpack("<HH", head[6:10])
        shown_kind = stream.read(kind + -kind % 4)[:kind]
        shown = stream.read(cookie + -cookie % 4)[:cookie]
        self.greeted.append((shown_kind, shown))
        while shown == self.cookie and (data := stream.read1(65536)):
            connection.sendall(data)
        connection.close()


@pytest.fixture
def display(directory):
    """The display of srun's host, a file that knows its cookie, and a program for it."""
    shown = Display()
    shown.authority, shown.client = directory / "authority", directory / "client.py"
    shown.name = f"localhost:{shown.number}"
    subprocess.run([XAUTH, "-f", shown.authority, "add", shown.name, ".", shown.cookie.hex()], check=True, capture_output=True, timeout=limit(60))
    shown.client.write_text(CLIENT.replace("LIMIT", str(limit(60))))
    shown.known = {"DISPLAY": shown.name + ".1", "XAUTHORITY": str(shown.authority)}
    return shown


def test_windows(checks, cluster, display):
    client, known = display.client, display.known
    done = cluster.run("srun", "-N2", "-n2", "-l", "--x11", PYTHON, client, **known)
    checks.that("two tasks on two nodes use the display of srun's host", sorted(done.out.splitlines()) == ["0: same screen 1", "1: same screen 1"], done)
    checks.that("which saw its own cookie", display.greeted == [(KIND, display.cookie)] * 2, display.greeted)
    display.greeted.clear()
    done = cluster.run("srun", "-n1", "--x11", PYTHON, client, "wrong", **known)
    checks.that("who does not know the node's cookie is turned away", done.out == "refused screen 1\n" and not display.greeted, (done, display.greeted))
    done = cluster.run("srun", "-N2", "-n2", "-l", "--x11=first", "sh", "-c", "echo ${DISPLAY%%:*}", **known)
    shown = dict(line.split(": ", 1) for line in done.out.splitlines())
    checks.that("--x11=first is for the first node", shown.get("0") == "localhost" and done.code == 0, done)
    done = cluster.run("salloc", "-N1", "--x11", cluster.bin / "srun", PYTHON, client, **known)
    checks.that("salloc --x11 is for every srun inside", "same screen 1" in done.out, done)
    done = cluster.run("srun", "-n1", "sh", "-c", "echo $XAUTHORITY", **known)
    checks.that("without --x11 nothing changes", done.out.strip() == str(display.authority), done)


def test_refused(checks, cluster, display):
    name = display.name
    done = cluster.run("srun", "--x11", "true", DISPLAY="")
    checks.that("no DISPLAY is said", done.code == 1 and "No DISPLAY variable set, cannot setup x11 forwarding." in done.err, done)
    done = cluster.run("srun", "--x11", "true", DISPLAY=name, XAUTHORITY=str(cluster.directory / "empty"))
    checks.that("no cookie is said", done.code == 1 and "Could not retrieve magic cookie" in done.err, done)
    done = cluster.run("salloc", "--x11", "true", DISPLAY="nonsense")
    checks.that("a display that is none is said, before nodes are asked for", done.code == 1 and "unable to parse DISPLAY value: nonsense" in done.err, done)
    done = cluster.run("srun", "--x11=some", "true", **display.known)
    checks.that("so is a word that is none", done.code != 0 and "all, first or last" in done.err, done)
