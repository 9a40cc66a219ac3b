"""The pages of docs/user, followed by the letter: files are written as they stand there, commands run, and what they print is compared.

In a page, `<!-- file: NAME -->` before a block makes the block that file, and `<!-- run -->` runs it: lines that begin with `$ ` are commands (a
line that ends in `\\` goes on), those below are what is printed. There `...` stands for anything, in a line or instead of lines, and a number for
any number. `<!-- run: podman cc -->` needs these programs and is left out, by name, where one is missing.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cluster import Cluster, limit

PAGES = Path(__file__).resolve().parents[2] / "docs" / "user"
KINDS_OF_JOBS = {"batch.md", "interactive.md", "steps.md", "het-jobs.md", "gpu-jobs.md", "containers.md"}  # what is for tools that may be missing is not here
NAMES_NUMBERS = {"batch.md"}  # commands name files after numbers of jobs: these are the first of their cluster
BLOCK = re.compile(r"^<!-- (run|file)(?:: ([^>]*?))? -->\n```[^\n]*\n(.*?)^```$", re.M | re.S)


class ClusterOfThePages(Cluster):
    def configuration_text(self):
        return super().configuration_text().replace("State=UNKNOWN", "Gres=gpu:2 State=UNKNOWN")


def blocks(text):
    """[(line, 'file', name, text) or (line, 'run', needed programs, [(command, expected output)])]"""
    for match in BLOCK.finditer(text):
        kind, word, inside = match.group(1), match.group(2) or "", match.group(3)
        line = text.count("\n", 0, match.start()) + 3
        if kind == "file":
            yield line, kind, word.strip(), inside
            continue
        commands, going_on = [], False
        for one in inside.splitlines():
            if going_on:
                commands[-1][0] += "\n" + one.removeprefix("> ")
            elif one.startswith("$ "):
                commands.append([re.sub(r"\s+# [^'\"]*$", "", one[2:]), ""])
            elif commands:
                commands[-1][1] += one + "\n"
            going_on = going_on and one.endswith("\\") or one.startswith("$ ") and one.endswith("\\")
        yield line, kind, word.split(), commands


def pattern_of(expected):
    """What may be printed for it. Runs of blanks are one: columns get wider with longer numbers."""
    out = ""
    for line in expected.splitlines():
        if line.strip() == "...":
            out += r"(?:.*\n)*?"
            continue
        words = re.split(r"(\.\.\.|\d+|\s+)", line.strip())
        out += r"\s*" + "".join(".*" if w == "..." else r"\d+" if w.isdigit() else r"\s+" if w and w.isspace() else re.escape(w) for w in words) + r"\s*\n"
    return re.compile(out + r"\Z")


def make_cluster(build, directory):
    cluster = ClusterOfThePages(build, directory, nodes=4, cpus=4, settings=["GresTypes=gpu", "ScronParameters=enable"]).with_plain_logins().with_own_shared_memory()
    (cluster.directory / "gres.conf").write_text("Name=gpu Count=2\n")
    return cluster


PAGES_WITH_BLOCKS = sorted(page for page in PAGES.glob("*.md") if page.name in KINDS_OF_JOBS or BLOCK.search(page.read_text()))


@pytest.mark.parametrize("page", PAGES_WITH_BLOCKS, ids=[page.stem for page in PAGES_WITH_BLOCKS])
def test_page(checks, cluster, clusters, page):
    if page.name in NAMES_NUMBERS and cluster.jobs():
        clusters.end()
        cluster = clusters.get_shared()
    place = cluster.directory / "pages" / page.stem
    place.mkdir(parents=True)
    environment = {**cluster.environment, "PATH": f"{cluster.bin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8"}
    ran = 0
    for line, kind, word, content in blocks(page.read_text()):
        where = f"{page.name}:{line}"
        if kind == "file":
            target = place / word
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
            target.chmod(0o755)
            continue
        missing = [name for name in word if shutil.which(name) is None]
        if missing:
            print(f"skip  {where}: {', '.join(missing)} not installed")
            continue
        for command, expected in content:
            ran += 1
            try:
                done = subprocess.run(["bash", "-c", command], env=environment, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      timeout=limit(120))
            except subprocess.TimeoutExpired as late:
                checks.that(f"{where}: {command}", False, f"not done after two minutes: {late.output}")
                return
            checks.that(f"{where}: {command}", pattern_of(expected).match(done.stdout) is not None, f"exit {done.returncode}, printed\n{done.stdout}")
    if page.name in KINDS_OF_JOBS:
        checks.that(f"{page.name} has something to run", ran > 0, "no block says <!-- run -->")
