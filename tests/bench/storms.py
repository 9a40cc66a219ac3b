"""Many clients that list all jobs in a loop, until they are ended."""

import json
import os
import signal
import subprocess

from host import limit


class SqueueStorm:
    """The command itself, in one session that weighs nothing: the kernel weighs sessions against each other, whatever their processes' priorities."""

    def __init__(self, clients, directory, environment):
        self.asked = directory / "asked"
        self.asked.mkdir()
        loop = f"while :; do squeue -h >/dev/null || exit 1; echo >> {self.asked}/$$; done"
        storm = f"echo 19 > /proc/self/autogroup; for i in $(seq {clients}); do chrt -i 0 sh -c '{loop}' & done; wait"
        self.process = subprocess.Popen(["sh", "-c", storm], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def answers(self):
        return sum(path.stat().st_size for path in self.asked.iterdir())

    def has_answers(self):
        return self.answers() > 0

    def end(self):
        answers = self.answers()
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(limit(60))
        return answers


class QuestionStorm:
    """Questions only (storm.cpp)."""

    def __init__(self, program, clients, socket, directory):
        self.said = directory / "storm"
        with open(self.said, "w") as out:
            self.process = subprocess.Popen([program, "--socket", socket, "--clients", str(clients)], stdin=subprocess.DEVNULL, stdout=out)

    def has_answers(self):
        return self.process.poll() is None and "answered" in self.said.read_text()

    def end(self):
        self.process.terminate()
        self.process.wait(limit(60))
        lines = [line for line in self.said.read_text().splitlines() if line.startswith("{")]
        return json.loads(lines[-1])["answers"] if lines else 0
