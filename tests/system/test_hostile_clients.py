"""One user who takes whatever a daemon gives: connections, halves of messages, answers that are never read. Root and other users are served all
the while, and the user is told what is too much."""

import os
import subprocess

import pytest

from cluster import limit, read_line, wait_for
from test_bad_input import IS_ROOT, PYTHON, a_user, answer_to, field, frame, identity_of, serves, unix_connection
from test_trust import relay_configuration

pytestmark = [pytest.mark.order(50), pytest.mark.skipif(not IS_ROOT, reason="only root can act as other users")]

PING = field(1, 1) + field(2, 7) + field(21, b"")

# Connects as often as it can and does one thing on each connection; says how many were turned away, and holds the rest until its input ends.
PROGRAM = """
import resource, select, socket, struct, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
path, count, slow, data = sys.argv[1], int(sys.argv[2]), float(sys.argv[4]), bytes.fromhex(sys.stdin.readline())
held, words = [], b""

def ready(one, what, seconds):
    poll = select.poll()
    poll.register(one, what)
    return poll.poll(seconds * slow * 1000)

for _ in range(count):
    one = socket.socket(socket.AF_UNIX)
    # Waits while the queue of the listener is full. One that Python gave a time limit would fail at once, and never be refused.
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(30 * slow), 0))
    try:
        one.connect(path)
        one.setblocking(False)
        sent = 0
        while sent < len(data) and ready(one, select.POLLOUT, 5):
            sent += one.send(data[sent:sent + 65536])
    except OSError:
        pass
    held.append(one)
gone = 0
for one in held:
    if sys.argv[3] == "look" and ready(one, select.POLLIN, 30):  # an answer, or a refusal
        got = b""
        for _ in range(2):  # what was not read is said before what was sent
            try:
                got = got or one.recv(65536)
            except OSError:
                pass
        if b"too many" in got:
            gone += 1
            words = got
print(gone, words[8:].decode(errors="replace").replace("\\n", " "), flush=True)
sys.stdin.read()
"""


class Crowd:
    def __init__(self, cluster, user, count, data, look="look"):
        def become():
            import resource
            resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
            os.setgroups(user[3])
            os.setgid(user[2])
            os.setuid(user[1])
        self.process = subprocess.Popen([PYTHON, "-c", PROGRAM, str(cluster.socket), str(count), look, str(limit(1))], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, preexec_fn=become, cwd="/")
        self.process.stdin.write(data.hex() + "\n")
        self.process.stdin.flush()

    def __enter__(self):
        number, _, self.words = read_line(self.process.stdout, 300).partition(" ")
        self.refused = int(number)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(limit(60))


def test_too_many_connections(checks, cluster):
    user = a_user()
    with Crowd(cluster, user, 1500, frame(PING)) as crowd:
        checks.that("those above the limit are told so", crowd.refused >= 100 and "too many connections of this user" in crowd.words, (crowd.refused, crowd.words))
        checks.that("root is served", serves(cluster))
        checks.says("the user's own command says what is wrong", cluster.run("squeue", identity=identity_of(user)), 1, "too many connections of this user")
        other = a_user(skip=(user[0],))
        checks.that("another user is served", cluster.run("squeue", identity=identity_of(other)).code == 0)
    checks.that("afterwards the user is served again", wait_for("service", lambda: cluster.run("squeue", identity=identity_of(user)).code == 0, 60))
    log = (cluster.directory / "logs" / "controller.log").read_text(errors="replace")
    checks.that("the log counts refusals and does not write each", 1 <= log.count("too many connections of this user") <= 5, log.count("too many connections"))


def memory_of(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) >> 10
    return 0


def test_half_messages(checks, cluster):
    user = a_user()
    half = frame(PING) + frame(b"", length=15 << 20) + bytes(3 << 20)
    with Crowd(cluster, user, 400, half, look="hold"):  # 1.2 GiB, if it were kept
        checks.that("halves of messages: root is served", serves(cluster))
        checks.that("and they take a bounded part of memory", memory_of(cluster.controller.pid) < 1000, memory_of(cluster.controller.pid))
    checks.that("afterwards the user is served", wait_for("service", lambda: cluster.run("squeue", identity=identity_of(user)).code == 0, 60))


def test_large_requests_through_a_relay(checks, cluster, directory):
    """They are all complete in one turn of the relay, and more than its link to the controller holds."""
    cluster.wait_for_nodes()
    log = cluster.directory / "logs" / "controller.log"
    before = log.stat().st_size
    ask = frame(field(1, 1) + field(2, 7) + field(10, field(2, b"#!/bin/sh\n" + b"#" * (13 << 20))))
    connections = [unix_connection(f"{cluster.socket}.relay") for _ in range(12)]
    for one in connections:
        one.sendall(ask[:-1])
    for one in connections:
        one.sendall(ask[-1:])
    user = a_user()
    done = cluster.run("squeue", SLURM_CONF=str(relay_configuration(cluster, directory)), identity=identity_of(user))
    checks.that("another user is served", done.code == 0, done)
    answers = [answer_to(one, b"") for one in connections]
    checks.that("each gets its answer", all(b"denied" in answer for answer in answers), answers)
    for one in connections:
        one.close()
    said = log.read_bytes()[before:]
    checks.that("the relay stays connected", b"disconnected" not in said, said[-2000:])


def test_unread_answers(checks, cluster, directory):
    user = a_user()
    script = directory / "large.sh"
    script.write_bytes(b"#!/bin/sh\n" + b"#" * (3 << 20))
    script.chmod(0o755)
    job = cluster.submit("-H", "-o", "/dev/null", script, cwd="/", identity=identity_of(user))
    ask = b"".join(frame(field(1, 1) + field(2, number) + field(25, field(1, job))) for number in range(1, 101))
    with Crowd(cluster, user, 300, ask, look="hold"):  # 90 GiB, if they were made
        checks.that("answers that nobody reads: root is served", serves(cluster))
        checks.that("and they take a bounded part of memory", memory_of(cluster.controller.pid) < 1500, memory_of(cluster.controller.pid))
    checks.that("afterwards the user is served", wait_for("service", lambda: cluster.run("squeue", identity=identity_of(user)).code == 0, 60))
    cluster.run("scancel", job)
