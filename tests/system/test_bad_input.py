"""Bad input and trouble, on real daemons: wrong commands, garbage on every port, wrong keys, a full disk, a controller that is away, and
users who try what they may not. Daemons live on, and every refusal says why.
"""

import contextlib
import ctypes
import hashlib
import hmac
import os
import pwd
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cluster import Daemon, TestTrouble, find_program, limit, read_line, run_command, wait_for

pytestmark = pytest.mark.order(60)

CLIENT_FRAME_MAX = 16 << 20
IS_ROOT = os.getuid() == 0
only_root = pytest.mark.skipif(not IS_ROOT, reason="only root can act as other users")
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable  # one that every user may run


def a_user(skip=()):
    """Somebody who is not root, with as many groups as this host has to offer: (name, uid, gid, groups)."""
    best = None
    for entry in pwd.getpwall():
        if entry.pw_uid == 0 or entry.pw_name in skip:
            continue
        groups = sorted(os.getgrouplist(entry.pw_name, entry.pw_gid))
        if best is None or len(groups) > len(best[3]):
            best = (entry.pw_name, entry.pw_uid, entry.pw_gid, groups)
    return best


def identity_of(user):
    return (user[1], user[2], user[3])


# --- protobuf and frames by hand, because a hostile peer does not use our library

def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(tag, value):
    if isinstance(value, int):
        return varint(tag << 3) + varint(value)
    return varint(tag << 3 | 2) + varint(len(value)) + value


def frame(message, version=1, length=None):
    return b"MR" + struct.pack("<HI", version, len(message) if length is None else length) + message


PING = field(1, 1) + field(2, 7) + field(21, b"")


def unix_connection(path):
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(limit(30))
    one.connect(str(path))
    return one


def answer_to(connection, data):
    """What comes back, b"" when the peer only closes."""
    with contextlib.suppress(OSError):
        connection.sendall(data)
    with contextlib.suppress(OSError):
        return connection.recv(65536)
    return b""


def serves(cluster):
    cluster.must_live()
    done = cluster.run("scontrol", "ping")
    return done.code == 0 and "UP" in done.out


def log_says(path, *words, after=0, seconds=30):
    """All of these words stand in the log, behind its first `after` bytes."""
    try:
        return wait_for(f"{words} in {path}", lambda: all(word in Path(path).read_bytes()[after:].decode(errors="replace") for word in words), seconds)
    except TestTrouble:
        return False


def test_wrong_commands(checks, cluster, directory):
    before = set(cluster.jobs())
    good = directory / "good.sh"
    good.write_text("#!/bin/sh\nexit 0\n")
    run = cluster.run
    checks.says("an unknown option is named", run("sbatch", "--frobnicate", good), 1, "frobnicate")
    checks.says("an option that is not built is refused by name", run("sbatch", "--bb=x", good), 1, "--bb")
    checks.says("an unknown partition is named", run("sbatch", "-p", "nowhere", good), 1, "nowhere", "invalid partition")
    checks.says("an unknown node is refused", run("sbatch", "-w", "n99", good), 1, "invalid node name")
    checks.says("more tasks for each node than it has CPUs are not spread over several", run("sbatch", "--ntasks-per-node=999", good), 1, "Requested node configuration is not available")
    checks.says("squeue of an unknown user", run("squeue", "-u", "nosuchuser"), 0, "Invalid user: nosuchuser")
    checks.says("scancel of an unknown user", run("scancel", "-u", "nosuchuser"), 1, "nosuchuser")
    checks.says("squeue of an unknown job", run("squeue", "-j", "999999"), 1, "invalid job id")
    checks.says("scontrol show of an unknown job", run("scontrol", "show", "job", "999999"), 1, "invalid job id")
    checks.says("scontrol show of an unknown node", run("scontrol", "show", "node", "n99"), 1, "n99", "not found")
    checks.says("a signal for an unknown job", run("scancel", "-s", "USR1", "999999"), 1, "invalid job id")
    checks.says("a cancel of an unknown job is what was wanted, as in Slurm", run("scancel", "999999"), 0)
    checks.says("an unknown dependency", run("sbatch", "-d", "afterok:999999", good), 1, "dependency")
    checks.says("a wrong time limit", run("sbatch", "-t", "soon", good), None, "time")
    checks.says("a wrong array", run("sbatch", "-a", "5-1", good), 1, "array")
    checks.says("an array beyond MaxArraySize", run("sbatch", "-a", "1-99999999", good), 1, "array")
    for words, name in ((("-c", "1000"), "CPUs of one task"), (("--mem=999G",), "memory"), (("-n1", "--mem-per-cpu=999G"), "memory per CPU")):
        checks.says(f"impossible {name}: refused, naming the largest node", run("sbatch", *words, good), 1, "not available", "the largest is n", f"{cluster.cpus} CPUs", f"{cluster.memory}M")
    for words in (("-N", "50"), ("-n", "10000")):
        checks.says(f"more than the partition has ({' '.join(words)}) is refused", run("sbatch", *words, good), 1, "node")
    checks.says("srun of an impossible size", run("srun", "-c", "1000", "true"), 1, "the largest is n")
    checks.says("a script that is not there", run("sbatch", directory / "nothing.sh"), 1, "nothing.sh")
    checks.says("a directory as script", run("sbatch", directory), 1)
    for name, content, words in (("plain.sh", b"echo hello\n", ("#!",)), ("empty.sh", b"", ("empty",)),
                                 ("large.sh", b"#!/bin/sh\n" + b"#" * (4 << 20), ("script", "size")), ("dos.sh", b"#!/bin/sh\r\ntrue\r\n", ("dos",)),
                                 ("null.sh", b"#!/bin/sh\ntrue \0\n", ("null",))):
        (directory / name).write_bytes(content)
        checks.says(f"{name} is refused", run("sbatch", directory / name), 1, *words)
    other = directory / "other.conf"
    other.write_text(cluster.configuration_text().replace("requeue_delay=0", "requeue_delay=0,max_script_size=10000000"))
    checks.says("a client that allows itself larger scripts is refused by the controller", run("sbatch", directory / "large.sh", SLURM_CONF=str(other)), 1, "script")
    checks.says("plain text from standard input is refused", run("sbatch", stdin="echo hello\n"), 1, "#!")
    checks.that("after all this no job exists", set(cluster.jobs()) == before, cluster.jobs())
    checks.that("the controller serves", serves(cluster))


def test_wrong_output(checks, cluster, directory):
    user = a_user()
    closed = directory / "closed"
    closed.mkdir(mode=0o700)
    open_folder = directory / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    cases = [("a missing output directory", "/nonexistent/folder/out", None)]
    if IS_ROOT:
        cases.append(("an unreadable output directory", str(closed / "out"), identity_of(user)))
    for what, path, identity in cases:
        job = cluster.submit("-o", path, "--wrap", "exit 0", cwd=open_folder, identity=identity)
        fields = cluster.wait_for_job(job)
        checks.that(f"{what}: the job fails and says why", fields["JobState"] == "FAILED" and fields["Reason"] not in ("None", "") and fields["ExitCode"] == "0:53",
                    {key: fields.get(key) for key in ("JobState", "Reason", "ExitCode")})
        checks.that(f"{what}: the log names the file", log_says(cluster.directory / "logs" / "controller.log", path))
    job = cluster.submit("-o", "/dev/null", "-D", "/nonexistent", "--wrap", "exit 0")
    checks.that("a missing working directory does not stop a job", cluster.wait_for_job(job)["JobState"] == "COMPLETED")
    cluster.wait_for_nodes()
    checks.that("the nodes are not harmed", True)
    job = cluster.submit("-o", "/dev/null", "--wrap", "exit 0")
    checks.that("and run the next job", cluster.wait_for_job(job)["JobState"] == "COMPLETED")
    done = cluster.run("srun", "/nonexistent/program")
    checks.says("srun of a missing program", done, 2, "No such file")


def test_client_socket(checks, cluster):
    cluster.wait_for_nodes()
    chooser = random.Random(4711)
    with contextlib.closing(unix_connection(cluster.socket)) as one:
        checks.that("our own frame is understood", len(answer_to(one, frame(PING))) > 8)
    cases = {"garbage": b"GET / HTTP/1.0\r\n\r\n", "zeros": bytes(64), "a frame of 4 GiB": frame(b"", length=0xffffffff),
             "a frame one byte too large": frame(b"x", length=CLIENT_FRAME_MAX + 1), "another version": frame(PING, version=77)}
    for name, data in cases.items():
        with contextlib.closing(unix_connection(cluster.socket)) as one:
            answer_to(one, data)
            with contextlib.suppress(OSError):
                one.sendall(b"x" * 100)
            gone = False
            with contextlib.suppress(OSError):
                while one.recv(65536):
                    pass
                gone = True
            checks.that(f"{name}: the connection is closed", gone or name == "zeros")
    with contextlib.closing(unix_connection(cluster.socket)) as one:
        one.sendall(frame(PING)[:11])
    with contextlib.closing(unix_connection(cluster.socket)) as one:
        one.sendall(frame(PING, length=1000))
    for protocol in (0, 99):
        with contextlib.closing(unix_connection(cluster.socket)) as one:
            answer = answer_to(one, frame(field(1, protocol) + field(2, 9) + field(21, b"")))
            checks.that(f"protocol {protocol} in a request is refused with words", b"Incompatible" in answer, answer)
    for _ in range(300):
        with contextlib.closing(unix_connection(cluster.socket)) as one:
            body = bytes(chooser.randrange(256) for _ in range(chooser.randrange(200)))
            if chooser.random() < 0.7:  # a known request with a random inside
                body = field(1, 1) + field(2, 3) + field(chooser.randrange(10, 26), body)
            one.settimeout(0.05)
            answer_to(one, frame(body))
    checks.that("300 random requests do no harm", serves(cluster))
    checks.that("and changed no node", set(cluster.node_states().values()) == {"idle"}, cluster.node_states())


def test_silent_clients(checks, cluster):
    """Many who connect and say nothing, or almost nothing."""
    loris = [unix_connection(cluster.socket) for _ in range(100)]
    for number, one in enumerate(loris):
        if number % 2:
            one.sendall(frame(PING)[:number % 12])
    begin = time.monotonic()
    done = cluster.run("squeue")
    checks.that("a hundred silent connections: squeue answers at once", done.code == 0 and done.seconds < limit(10), done)

    def closed(one):
        one.settimeout(limit(60))
        with contextlib.suppress(OSError):
            return one.recv(1) == b""
        return False
    checks.that("silent connections are closed after a while", all(closed(one) for one in loris), f"{time.monotonic() - begin:.0f} s")
    for one in loris:
        one.close()


@only_root
def test_crowd_of_one_user(checks, cluster):
    user = a_user()
    program = ("import resource,socket,sys,time\nresource.setrlimit(resource.RLIMIT_NOFILE,(4096,4096))\nheld=[]\n"
               f"for i in range(1500):\n one=socket.socket(socket.AF_UNIX)\n one.settimeout({limit(5):g})\n"
               f" try: one.connect({str(cluster.socket)!r}); one.sendall({frame(PING)!r}); held.append(one)\n except OSError: break\n"
               "print(len(held),flush=True)\nsys.stdin.read()\n")
    crowd = subprocess.Popen([PYTHON, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             preexec_fn=lambda: become_with_descriptors(user), cwd="/")
    try:
        held = read_line(crowd.stdout, 120)
        done = cluster.run("squeue", seconds=30)
        checks.that(f"one user with {held} connections does not lock root out", done.code == 0, done)
    finally:
        crowd.stdin.close()
        crowd.wait(limit(30))
    checks.that("and is served again afterwards", wait_for("service", lambda: cluster.run("squeue", identity=identity_of(user)).code == 0, 30))


def become_with_descriptors(user):
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    os.setgroups(user[3])
    os.setgid(user[2])
    os.setuid(user[1])


def agent_connection(cluster):
    return socket.create_connection(("127.0.0.1", cluster.port), limit(30))


def test_agent_port(checks, cluster):
    hello = b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"
    for name, data in {"garbage": os.urandom(5000), "a plain frame": frame(PING), "half a handshake": hello[:7], "a broken handshake": hello,
                       "a record of the largest size": b"\x16\x03\x01\xff\xff" + bytes(65535)}.items():
        with contextlib.closing(agent_connection(cluster)) as one:
            answer_to(one, data) if name != "half a handshake" else one.sendall(data)
        checks.that(f"agents' port: {name}", serves(cluster))
    loris = [agent_connection(cluster) for _ in range(50)]
    begin = time.monotonic()

    def closed(one):
        one.settimeout(limit(60))
        with contextlib.suppress(OSError):
            return one.recv(1) == b""
        return False
    checks.that("silent connections on the agents' port are closed after a while", all(closed(one) for one in loris), f"{time.monotonic() - begin:.0f} s")
    for one in loris:
        one.close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_misused_node_key(checks, cluster):
    key = read_cluster_key(cluster)
    node_key = hmac.new(key, b"node:n1", hashlib.sha256).hexdigest()
    for name, data in {"garbage": os.urandom(3000), "an oversized frame": frame(b"", length=0xfffffff0), "half a frame": frame(PING)[:9],
                       "nonsense in a frame": frame(os.urandom(500)), "an empty frame": frame(b"")}.items():
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{cluster.port}", "-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256",
                   "-psk", node_key, "-psk_identity", "n1", "-quiet", "-no_ign_eof"]
        subprocess.run(command, input=data, capture_output=True, timeout=limit(60))
        checks.that(f"inside a node's own encrypted session: {name}", serves(cluster))
    idle = lambda: all(state == "idle" for state in cluster.node_states().values())
    checks.that("the node whose key was misused is well", wait_for("idle nodes", idle, 60, 0.1))


def read_cluster_key(cluster):
    return bytes.fromhex((cluster.state / "cluster.key").read_text().split()[2])


def test_wrong_keys(checks, cluster, directory):
    log = cluster.directory / "logs"
    cluster.agents["n2"].terminate()

    def start(key_line, mode=0o600, name="wrong"):
        path = directory / f"{name}.key"
        path.unlink(missing_ok=True)
        path.touch(mode=mode)
        path.write_text(key_line)
        path.chmod(mode)
        return Daemon([find_program(cluster.build, "millrace-agent"), "-D", "-f", cluster.configuration, "-N", "n2", "--key", path],
                      log / f"{name}.log", cluster.environment)
    agent = start(f"millrace-node-key 1 n2 {os.urandom(32).hex()}\n")
    try:
        checks.that("another cluster's key: the agent's log says so", log_says(log / "wrong.log", "node key is not accepted"), (log / "wrong.log").read_text())
        checks.that("another cluster's key: the controller's log says so", log_says(log / "controller.log", "refused", "n2", "another key"))
        checks.that("the agent does not give up nor crash", agent.alive())
    finally:
        agent.kill()
    key = read_cluster_key(cluster)
    stolen = hmac.new(key, b"node:n1", hashlib.sha256).hexdigest()
    agent = start(f"millrace-node-key 1 n2 {stolen}\n", name="stolen")
    try:
        checks.that("n1's key under the name n2 is refused", log_says(log / "stolen.log", "node key is not accepted"))
    finally:
        agent.kill()
    for name, line, mode, words in (("foreign", f"millrace-node-key 1 n1 {stolen}\n", 0o600, "key is of node n1"), ("loose", f"millrace-node-key 1 n2 {stolen}\n", 0o644, "loose.key"),
                                    ("broken", "hello\n", 0o600, "broken.key")):
        agent = start(line, mode, name)
        with contextlib.suppress(subprocess.TimeoutExpired):
            agent.process.wait(limit(30))
        text = (log / f"{name}.log").read_text()
        checks.that(f"a {name} key file is refused at once, with words", not agent.alive() and agent.process.returncode == 1 and words in text, text)
        agent.kill()
    cluster.start_agent("n2")
    cluster.wait_for_nodes()
    checks.that("the right key works again", True)


def listening_port(pid):
    """The TCP port on which this process listens."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            target = os.readlink(entry)
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and words[9] in inodes:
            return int(words[1].split(":")[1], 16)
    return None


def test_srun_port(checks, cluster, directory):
    go = directory / "go"
    process = subprocess.Popen([cluster.bin / "srun", "sh", "-c", f"echo started; while [ ! -e {go} ]; do sleep 0.1; done; echo fine"],
                               env=cluster.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/")
    try:
        checks.that("srun's task runs", read_line(process.stdout) == "started")
        port = wait_for("srun's port", lambda: listening_port(process.pid), 30)
        wrong_hello = frame(field(1, field(1, os.urandom(32)) + field(4, 1)))
        evil = frame(field(2, field(3, b"evil\n"))) + frame(field(3, field(2, 77)))
        for data in (b"garbage" * 100, frame(b"", length=0xffffffff), wrong_hello[:10], wrong_hello + evil, evil, frame(os.urandom(100)),
                     frame(field(1, b"")) + evil):
            with contextlib.closing(socket.create_connection(("127.0.0.1", port), limit(10))) as one:
                one.settimeout(limit(2))
                answer_to(one, data)
        silent = [socket.create_connection(("127.0.0.1", port), limit(10)) for _ in range(40)]
        go.touch()
        out, _ = process.communicate(timeout=limit(60))
        checks.that("srun ends well, with its task's output only", process.returncode == 0 and "fine" in out and "evil" not in out, (process.returncode, out))
        for one in silent:
            one.close()
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(limit(60))


@only_root
def test_supervisor_socket(checks, cluster, directory):
    user = a_user()
    job = cluster.submit("-o", "/dev/null", "--wrap", f"while [ ! -e {directory}/enough ]; do sleep 0.1; done")
    cluster.wait_for_job(job, ("RUNNING",))

    def find():
        for path in (cluster.directory / "spool").glob("*/*/state"):
            with contextlib.suppress(OSError, IndexError):
                first, *rest = path.read_text().splitlines()
                words = first.split()
                if len(words) == 5 and words[1] != "0" and not any(line.startswith("end") for line in rest):
                    return path, words[4]
    path, name = wait_for("the supervisor's socket", find, 30)
    key, attempt = map(int, path.parent.name.split("."))
    kill = frame(field(2, field(1, key) + field(2, attempt or 0)))
    program = (f"import socket\none=socket.socket(socket.AF_UNIX)\none.settimeout({limit(3):g})\n"
               f"try:\n one.connect(b'\\0'+{name.encode()!r}); one.sendall({kill!r}); print(one.recv(100))\nexcept OSError as e: print(e)\n")
    for identity, data in ((identity_of(user), program), (identity_of(user), program.replace(repr(kill), repr(frame(b"", length=0xffffffff))))):
        run_command([PYTHON, "-c", data], {}, identity=identity)
    state = cluster.job(job)["JobState"]
    checks.that("a stranger on the supervisor's socket cannot end a job", state == "RUNNING" and (str(cluster.supervisors()) != "[]"), state)
    (directory / "enough").touch()
    checks.that("which then ends by itself", cluster.wait_for_job(job)["JobState"] == "COMPLETED", cluster.job(job))


@only_root
def test_identity(checks, cluster, directory):
    user = a_user()
    stranger = a_user(skip=(user[0],))
    work = directory / "work"
    work.mkdir()
    os.chown(work, user[1], user[2])
    probe = "id -u; id -g; id -G; grep -E '^(Uid|Gid|Groups|CapEff|CapPrm):' /proc/self/status; umask"
    job = cluster.submit("-o", work / "out", "--wrap", probe, identity=identity_of(user), cwd=work)
    fields = cluster.wait_for_job(job)
    lines = (work / "out").read_text().split("\n") if (work / "out").exists() else []
    wanted = " ".join(map(str, sorted(user[3])))
    groups = sorted(map(int, lines[2].split())) if len(lines) > 2 else None
    status = {line.split(":")[0]: line.split(":")[1].split() for line in lines if ":" in line}
    checks.that(f"a job of {user[0]} runs with exactly that uid, gid and groups ({wanted})",
                lines[:2] == [str(user[1]), str(user[2])] and groups == sorted(user[3]) and set(status["Uid"]) == {str(user[1])} and set(status["Gid"]) == {str(user[2])}
                and sorted(map(int, status["Groups"])) == sorted(user[3]), lines)
    checks.that("and no capabilities", status.get("CapEff") == ["0000000000000000"] and status.get("CapPrm") == ["0000000000000000"], status)
    checks.that("the output file is the user's", (work / "out").stat().st_uid == user[1])
    done = cluster.run("srun", "sh", "-c", "id -u; id -g; id -G", identity=identity_of(user), cwd=work)
    words = done.out.split()
    checks.that("srun's task too", words[:2] == [str(user[1]), str(user[2])] and sorted(map(int, words[2:])) == sorted(user[3]), done)
    checks.that("and its job is shown as theirs", fields["UserId"] == f"{user[0]}({user[1]})", fields["UserId"])

    job = cluster.submit("-o", "/dev/null", "--wrap", f"while [ ! -e {work}/done ]; do sleep 0.1; done", identity=identity_of(user), cwd=work)
    cluster.wait_for_job(job, ("RUNNING",))
    denied = "denied"
    as_stranger = {"identity": identity_of(stranger)}
    checks.says("a stranger cannot cancel the job", cluster.run("scancel", str(job), **as_stranger), 1, denied)
    checks.says("nor hold it", cluster.run("scontrol", "hold", str(job), **as_stranger), 1, denied)
    checks.says("nor change it", cluster.run("scontrol", "update", f"jobid={job}", "timelimit=1", **as_stranger), 1, denied)
    checks.says("nor requeue it", cluster.run("scontrol", "requeue", str(job), **as_stranger), 1, denied)
    checks.says("nor signal it", cluster.run("scancel", "-s", "USR1", str(job), **as_stranger), 1, denied)
    cluster.run("scancel", "-u", user[0], **as_stranger)
    for who, name in ((stranger, "a stranger"), (user, "its owner")):
        how = {"identity": identity_of(who)}
        checks.says(f"{name} cannot drain a node", cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=x", **how), 1, denied)
        checks.says(f"{name} cannot change a partition", cluster.run("scontrol", "update", "partitionname=all", "state=down", **how), 1, denied)
        checks.says(f"{name} cannot reconfigure", cluster.run("scontrol", "reconfigure", **how), 1, denied)
        checks.says(f"{name} cannot shut the controller down", cluster.run("scontrol", "shutdown", **how), 1, denied)
    checks.says("a script is not shown to strangers", cluster.run("scontrol", "write", "batch_script", str(job), "-", **as_stranger), 1, denied)
    checks.that("job, nodes and controller are as before", cluster.job(job)["JobState"] == "RUNNING" and serves(cluster) and "idle" in str(cluster.node_states()))
    secret = [path for path in (cluster.state / "cluster.key", cluster.state / "log") if path.stat().st_mode & 0o077]
    checks.that("key and log are closed to others", not secret, secret)
    checks.says("its owner can cancel it", cluster.run("scancel", str(job), identity=identity_of(user)), 0)
    checks.that("and then it is cancelled", cluster.wait_for_job(job)["JobState"] == "CANCELLED")


@only_root
def test_relay_identity(checks, cluster, directory):
    """An agent gives its clients numbers and begins anew when it restarts: nobody may inherit the identity behind an old number."""
    user = a_user()
    relay = Path(f"{cluster.socket}.relay")
    lonely = directory / "lonely"
    Path(f"{lonely}.relay").symlink_to(relay)
    other = directory / "relay.conf"
    other.write_text(cluster.configuration_text().replace(f"socket={cluster.socket}", f"socket={lonely}"))
    checks.says("commands work through an agent", cluster.run("sinfo", SLURM_CONF=str(other)), 0, "n[1-2]")
    with contextlib.closing(unix_connection(relay)) as root_client:
        roots = []
        for _ in range(8):
            one = unix_connection(relay)
            answer_to(one, frame(PING))
            roots.append(one)
        # Whichever of the agents serves the path: all of them die at once, so that none can say goodbye for its clients.
        for agent in cluster.agents.values():
            agent.kill()
        for node in cluster.nodes:
            cluster.start_agent(node)
        for one in roots:
            one.close()
        answer_to(root_client, b"")
    cluster.wait_for_nodes()
    wait_for("the relay", lambda: cluster.run("sinfo", "-h", SLURM_CONF=str(other), identity=identity_of(user)).code == 0, 30)
    outcomes = [cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=stolen", SLURM_CONF=str(other), identity=identity_of(user)) for _ in range(6)]
    checks.that("nobody inherits root's identity from an agent that was restarted", all(one.code == 1 and "denied" in one.err for one in outcomes), outcomes)
    if cluster.node_states().get("n1") != "idle":
        cluster.run("scontrol", "update", "nodename=n1", "state=resume")
        cluster.wait_for_nodes()


def test_broken_configuration(checks, cluster, directory):
    old = cluster.configuration.read_text()
    job = cluster.submit("-o", "/dev/null", "--wrap", f"while [ ! -e {directory}/over ]; do sleep 0.1; done")
    cluster.wait_for_job(job, ("RUNNING",))
    lines = old.splitlines()
    at, kill_wait = next((number, line) for number, line in enumerate(lines, 1) if line.startswith("KillWait"))
    cases = {"a wrong value": (old.replace(kill_wait, "KillWait=banana"), (f"slurm.conf:{at}", "banana")),
             "a partition of unknown nodes": (old.replace("Nodes=n1", "Nodes=n77,n1"), ("n77",)),
             "an empty file": ("", ("ClusterName",)), "no file": (None, ("slurm.conf",)), "garbage": (os.urandom(2000).decode("latin1"), ())}
    for name, (text, words) in cases.items():
        cluster.configuration.unlink()
        if text is not None:
            cluster.configuration.write_text(text)
        # The command itself needs the file to find the socket.
        own = directory / "own.conf"
        own.write_text(old)
        done = cluster.run("scontrol", "reconfigure", SLURM_CONF=str(own))
        checks.says(f"reconfigure with {name} is refused and says what is wrong", done, 1, *words)
        cluster.configuration.unlink(missing_ok=True)
        cluster.configuration.write_text(old)
        shown = cluster.run("scontrol", "show", "config").out
        checks.that(f"{name}: the old configuration stays", any(line.split() == [*kill_wait.replace("=", " = ").split(), "sec"] for line in shown.splitlines()) and serves(cluster), shown[-300:])
    cluster.configuration.write_text(old.replace(kill_wait, "KillWait=banana"))
    log = cluster.directory / "logs" / "controller.log"
    before = log.stat().st_size
    os.kill(cluster.controller.pid, signal.SIGHUP)
    checks.that("SIGHUP with a broken file is said in the log", log_says(log, "banana", after=before))
    cluster.configuration.write_text(old.replace(kill_wait, "KillWait=3"))
    checks.says("a right file is taken", cluster.run("scontrol", "reconfigure"), 0)
    checks.that("and shown", "KillWait                = 3 sec" in cluster.run("scontrol", "show", "config").out)
    cluster.configuration.write_text(old)
    cluster.run("scontrol", "reconfigure")
    checks.that("the job went on through all of it", cluster.job(job)["JobState"] == "RUNNING")
    (directory / "over").touch()
    checks.that("and ends well", cluster.wait_for_job(job)["JobState"] == "COMPLETED")


def test_removed_node(checks, cluster, directory):
    """A node is taken out of the configuration while it runs a job."""
    old = cluster.configuration.read_text()
    jobs = [cluster.submit("-w", "n2", "-o", "/dev/null", "--wrap", f"while [ ! -e {directory}/{name} ]; do sleep 0.1; done") for name in ("first", "second", "third")]
    for job in jobs:
        cluster.wait_for_job(job, ("RUNNING",))
    cluster.configuration.write_text("".join(line for line in old.splitlines(True) if not line.startswith("NodeName=n2")).replace("Nodes=n1,n2", "Nodes=n1"))
    checks.says("a node with jobs is taken out", cluster.run("scontrol", "reconfigure"), 0)
    (directory / "first").touch()
    checks.that("a job on it still ends", cluster.wait_for_job(jobs[0])["JobState"] == "COMPLETED")
    cluster.run("scancel", str(jobs[1]))
    checks.that("and can be cancelled", cluster.wait_for_job(jobs[1])["JobState"] == "CANCELLED")
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    (directory / "third").touch()
    checks.that("also after a restart of the controller", cluster.wait_for_job(jobs[2])["JobState"] == "COMPLETED")
    cluster.configuration.write_text(old)
    checks.says("the node is put back", cluster.run("scontrol", "reconfigure"), 0)
    cluster.wait_for_nodes()
    job = cluster.submit("-w", "n2", "-o", "/dev/null", "--wrap", "exit 0")
    checks.that("and runs jobs again", cluster.wait_for_job(job)["JobState"] == "COMPLETED")


def ended_in_spool(cluster, words):
    """Whether the node knows the end of the job whose script has these words."""
    for state in (cluster.directory / "spool").glob("*/*/state"):
        with contextlib.suppress(OSError):
            if words in (state.parent / "slurm_script").read_text() and any(line.startswith("end") for line in state.read_text().splitlines()):
                return True
    return False


def test_polite_restart(checks, cluster, directory):
    go = directory / "restart-go"
    marks = directory / "marks"
    job = cluster.submit("-o", "/dev/null", "--wrap", f"echo x >> {marks}; while [ ! -e {go} ]; do sleep 0.1; done")
    short = cluster.submit("-o", "/dev/null", "--wrap", f"while [ ! -e {go}.short ]; do sleep 0.1; done; exit 5")
    cluster.wait_for_job(job, ("RUNNING",))
    cluster.wait_for_job(short, ("RUNNING",))
    code = cluster.controller.terminate()
    checks.that("SIGTERM ends the controller with 0", code == 0, code)
    for command in (("squeue",), ("sbatch", "--wrap", "true"), ("scontrol", "ping"), ("sinfo",), ("scancel", "1"), ("srun", "true")):
        done = cluster.run(*command)
        wanted = ("DOWN",) if command[0] == "scontrol" else ("unable to contact slurm controller", str(cluster.socket))
        checks.says(f"no controller: {command[0]} says so, with the address, within seconds ({done.seconds:.1f})", done, 1, *wanted)
        checks.that(f"no controller: {command[0]} does not hang", done.seconds < limit(15), done)
    (Path(f"{go}.short")).touch()  # ends while nobody listens
    wait_for("the end of the short job in its node's spool", lambda: ended_in_spool(cluster, f"{go}.short"))
    cluster.start_controller()
    cluster.wait_for_controller()
    checks.that("the job that ended meanwhile is reported once, with its code", cluster.wait_for_job(short)["ExitCode"] == "5:0", cluster.job(short))
    fields = cluster.job(job)
    checks.that("the other goes on", fields["JobState"] == "RUNNING" and fields["Restarts"] == "0", fields)
    go.touch()
    fields = cluster.wait_for_job(job)
    checks.that("and ends well, once", fields["JobState"] == "COMPLETED" and fields["Restarts"] == "0" and marks.read_text() == "x\n", fields)
    cluster.controller.kill()
    done = cluster.run("squeue")
    checks.says("a socket left by a killed controller: said as well", done, 1, "unable to contact", str(cluster.socket))
    cluster.start_controller()
    cluster.wait_for_controller()
    cluster.wait_for_nodes()


@pytest.fixture
def disk(directory):
    """A small file system of its own, which can be filled."""
    folder = directory / "disk"
    folder.mkdir()
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(b"none", str(folder).encode(), b"tmpfs", 0, b"size=160m,mode=755") != 0:
        pytest.skip(f"a tmpfs cannot be mounted here: {os.strerror(ctypes.get_errno())}")
    yield folder
    if library.umount2(str(folder).encode(), 2) != 0:  # MNT_DETACH
        print(f"could not unmount {folder}")
    shutil.rmtree(directory, ignore_errors=True)


@only_root
def test_full_disk(checks, directory, disk, new_cluster):
    """A cluster of its own, whose log lies on a file system that we can fill."""
    cluster = new_cluster(directory / "full", nodes=1, cpus=16, state=disk / "state")
    cluster.start()
    running = [cluster.submit("-o", "/dev/null", "--wrap", f"while [ ! -e {directory}/end ]; do sleep 0.1; done") for _ in range(4)]
    for job in running:
        cluster.wait_for_job(job, ("RUNNING",))
    held = [cluster.submit("--hold", "-o", "/dev/null", "--wrap", "true") for _ in range(30)]
    ballast = disk / "ballast"
    with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as out:
        while True:
            out.write(bytes(1 << 16))
    accepted, refusal = [], None
    for number in range(200):  # what was reserved before is used up first
        script = directory / "large.sh"
        script.write_bytes(b"#!/bin/sh\n#" + os.urandom(1500000).hex().encode() + b"\n")
        done = cluster.run("sbatch", "--parsable", "--hold", script)
        if done.code != 0:
            refusal = done
            break
        accepted.append(int(done.out))
    checks.that(f"a full disk: submissions are refused ({len(accepted)} fitted into what was reserved)", refusal is not None and refusal.code == 1)
    checks.that("with the reason", refusal and any(word in refusal.err.lower() for word in ("room", "space", "disk")), refusal)
    print(f"      {refusal.err.strip() if refusal else ''}")
    checks.that("the controller lives and answers", serves(cluster))
    for job in held[:20]:
        cluster.run("scancel", str(job))
    cancelled = [cluster.job(job)["JobState"] for job in held[:20]]
    checks.that("cancels are still recorded", all(state == "CANCELLED" for state in cancelled), cancelled)
    (directory / "end").touch()
    ends = [cluster.wait_for_job(job)["JobState"] for job in running]
    checks.that("ends are still recorded", all(state == "COMPLETED" for state in ends), ends)
    known = set(cluster.jobs())
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    jobs = cluster.jobs()
    checks.that("killed and started again on the full disk: nothing is lost", set(jobs) == known and all(jobs[job]["JobState"] == "CANCELLED" for job in held[:20])
                and all(jobs[job]["JobState"] == "COMPLETED" for job in running), known ^ set(jobs))
    done = cluster.run("sbatch", "--parsable", "--hold", script)
    checks.that("and submissions are still refused with the reason", done.code == 1 and any(word in done.err.lower() for word in ("room", "space", "disk")), done)
    ballast.unlink()
    job = wait_for("a submission after there is room", lambda: (lambda done: done.code == 0 and done.out)(cluster.run("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "exit 0")), 60, 0.5)
    cluster.wait_for_nodes()
    checks.that("all is well again when there is room", cluster.wait_for_job(int(job))["JobState"] == "COMPLETED")
