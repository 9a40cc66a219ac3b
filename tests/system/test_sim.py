"""`millrace sim` as its users meet it: words, numbers, pictures, refusals. Needs no traces: the workload is a made one."""

import json
import xml.etree.ElementTree

import pytest

from cluster import clean_environment, find_program, run_command

KEYS = ["jobs", "bounded_slowdown", "mean_wait", "p95_wait", "p99_wait", "max_wait", "utilisation", "makespan"]
CONF = """ClusterName=test
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-4] CPUs=8 RealMemory=16000
PartitionName=short Nodes=n[1-2] Default=YES MaxTime=60
PartitionName=long Nodes=n[1-4]
"""
CSV = "submit,run,limit,partition,tasks\n0,60,60,short,4\n5,60,60,long,32\n6,60,60,,99\n"


class Simulator:
    """Runs `millrace sim` in a folder that has a made workload and the files of a cluster."""

    def __init__(self, build, directory):
        self.program, self.folder = find_program(build, "millrace"), directory
        self.made = self.run("workload", "lublin", "--jobs", "2000", "--processors", "64", "--seed", "5")
        for name, text in (("made.swf", self.made.out), ("slurm.conf", CONF), ("w.csv", CSV)):
            (self.folder / name).write_text(text)

    def run(self, *words):
        return run_command([self.program, "sim", *words], clean_environment(), 300, self.folder)


@pytest.fixture
def sim(build, directory):
    return Simulator(build, directory)


def test_run(checks, sim):
    checks.that("a made workload", sim.made.code == 0 and sim.made.out.count("\n") == 2006, sim.made)
    for policy in ["fcfs", "sjf", "f1", "f2", "f3", "f4", "wfp3", "unicep", "guarded"]:
        done = sim.run("run", "made.swf", "--policy", policy, "--json")
        numbers = json.loads(done.out) if done.code == 0 else {}
        checks.that(f"policy {policy}", list(numbers) == KEYS and numbers["jobs"] == 2000, done)
    for backfill in ["none", "easy", "sjbf", "conservative", "guarded"]:
        for estimates in ["requested", "predicted"]:
            done = sim.run("run", "made.swf", "--backfill", backfill, "--estimates", estimates, "--shake", "1", "--half", "second")
            checks.that(f"backfill {backfill}", done.code == 0 and "1000\n" in done.out, done)


def test_compare(checks, sim):
    compared = sim.run("compare", "made.swf", "--shakes", "2", "--half", "second", "--json")
    table = json.loads(compared.out)[0] if compared.code == 0 else {}
    checks.that("a comparison", table.get("jobs") == 1000 and [row["policy"] for row in table["policies"]] == ["easy", "sjbf", "guarded"]
                and table["policies"][0]["p99_to_easy"]["worst"] == 1, compared)
    compared = sim.run("compare", "made.swf", "made.swf", "--shakes", "0", "--policies", "conservative")
    checks.that("a comparison as a table", compared.code == 0 and compared.out.count("\nconservative ") == 2, compared)


def check_picture(checks, sim, name, done):
    tree = xml.etree.ElementTree.parse(sim.folder / name)
    checks.that(name, tree.getroot().tag.endswith("svg") and len(list(tree.iter())) > 20, done)


def test_cluster(checks, sim):
    cluster = sim.run("cluster", "--conf", "slurm.conf", "--workload", "w.csv", "--gantt", "w.svg")
    checks.that("a configured cluster", cluster.code == 0 and "1 job refused: Requested node configuration" in cluster.out, cluster)
    check_picture(checks, sim, "w.svg", cluster)
    (sim.folder / "guarded.conf").write_text(CONF + "SchedulerParameters=millrace_policy=guarded\n")
    guarded = sim.run("cluster", "--conf", "guarded.conf", "--workload", "w.csv")
    checks.that("a cluster under a policy of its slurm.conf", guarded.code == 0, guarded)
    (sim.folder / "unknown.conf").write_text(CONF + "SchedulerParameters=millrace_policy=best\n")
    unknown = sim.run("cluster", "--conf", "unknown.conf", "--workload", "w.csv")
    checks.that("an unknown policy", unknown.code != 0 and "it is one of conservative, easy, sjbf, guarded" in unknown.err, unknown)


def test_picture(checks, sim):
    check_picture(checks, sim, "made.svg", sim.run("run", "made.swf", "--gantt", "made.svg"))


REFUSALS = [
    (["run", "made.swf", "--policy", "best"], "--policy 'best' is not known; it is one of fcfs, sjf"),
    (["compare"], "name at least one trace"),
    (["compare", "made.swf", "--policies", "easy,best"], "--policies 'best' is not known; each is one of easy, sjbf, guarded"),
    (["compare", "made.swf", "--half", "third"], "--half 'third' is not known; it is one of first, second"),
    (["compare", "nowhere.swf"], "nowhere.swf"),
    (["run", "made.swf", "--policy", "multifactor"], "--policy multifactor is not built yet"),
    (["run", "made.swf", "--backfill", "some"], "it is one of none, easy, sjbf, conservative"),
    (["run", "made.swf", "--processors", "0"], "--processors must be a number from 1"),
    (["run", "made.swf", "--fast"], "there is no option '--fast'"),
    (["run", "absent.swf"], "opening absent.swf: No such file or directory"),
    (["run", "bad.swf"], "bad.swf line 2: the line ends before field 4, Run Time"),
    (["run"], "name one trace"),
    (["rlscheduler", "made.swf"], "the ten sequences need 9874 jobs, and the trace has 2000"),
    (["workload", "daily"], "`millrace sim workload lublin` would be right"),
    (["cluster", "--conf", "slurm.conf"], "`millrace sim cluster --conf slurm.conf --workload FILE` would be right"),
    (["dance"], "it is one of run, compare, rlscheduler, cluster, whatif, workload"),
]


def test_refusals(checks, sim):
    (sim.folder / "bad.swf").write_text("; MaxProcs: 4\n1 2 3\n")
    for words, story in REFUSALS:
        done = sim.run(*words)
        checks.that(" ".join(words), done.code == 1 and story in done.err and done.out == "", done)


def test_help(checks, sim):
    for words in [[], ["--help"], ["run", "--help"], ["rlscheduler", "--help"], ["cluster", "--help"], ["workload", "--help"], ["whatif", "--help"]]:
        done = sim.run(*words)
        checks.that(" ".join([*words]), done.code == 0 and done.out.startswith("Usage: millrace sim"), done)
