#!/usr/bin/env python3
"""`millrace sim` as its users meet it: words, numbers, pictures, refusals. Needs no traces: the workload is a made one."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

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


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    millrace = parser.parse_args().build.resolve() / "src/apps/millrace"
    wrong = []

    def run(*words, folder):
        return subprocess.run([millrace, "sim", *words], cwd=folder, capture_output=True, text=True, timeout=300)

    def check(what, ok, done):
        if not ok:
            wrong.append(f"{what}: rc {done.returncode}\n{done.stdout[-600:]}{done.stderr[-600:]}")

    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        made = run("workload", "lublin", "--jobs", "2000", "--processors", "64", "--seed", "5", folder=folder)
        check("a made workload", made.returncode == 0 and made.stdout.count("\n") == 2006, made)
        (home / "made.swf").write_text(made.stdout)
        for policy in ["fcfs", "sjf", "f1", "f2", "f3", "f4", "wfp3", "unicep", "guarded"]:
            done = run("run", "made.swf", "--policy", policy, "--json", folder=folder)
            numbers = json.loads(done.stdout) if done.returncode == 0 else {}
            check(f"policy {policy}", list(numbers) == KEYS and numbers["jobs"] == 2000, done)
        for backfill in ["none", "easy", "sjbf", "conservative", "guarded"]:
            for estimates in ["requested", "predicted"]:
                done = run("run", "made.swf", "--backfill", backfill, "--estimates", estimates, "--shake", "1", "--half", "second", folder=folder)
                check(f"backfill {backfill}", done.returncode == 0 and "1000\n" in done.stdout, done)
        compared = run("compare", "made.swf", "--shakes", "2", "--half", "second", "--json", folder=folder)
        table = json.loads(compared.stdout)[0] if compared.returncode == 0 else {}
        check("a comparison", table.get("jobs") == 1000 and [row["policy"] for row in table["policies"]] == ["easy", "sjbf", "guarded"]
              and table["policies"][0]["p99_to_easy"]["worst"] == 1, compared)
        compared = run("compare", "made.swf", "made.swf", "--shakes", "0", "--policies", "conservative", folder=folder)
        check("a comparison as a table", compared.returncode == 0 and compared.stdout.count("\nconservative ") == 2, compared)
        (home / "slurm.conf").write_text(CONF)
        (home / "w.csv").write_text(CSV)
        cluster = run("cluster", "--conf", "slurm.conf", "--workload", "w.csv", "--gantt", "w.svg", folder=folder)
        check("a configured cluster", cluster.returncode == 0 and "1 job refused: Requested node configuration" in cluster.stdout, cluster)
        (home / "guarded.conf").write_text(CONF + "SchedulerParameters=millrace_policy=guarded\n")
        guarded = run("cluster", "--conf", "guarded.conf", "--workload", "w.csv", folder=folder)
        check("a cluster under a policy of its slurm.conf", guarded.returncode == 0, guarded)
        (home / "unknown.conf").write_text(CONF + "SchedulerParameters=millrace_policy=best\n")
        unknown = run("cluster", "--conf", "unknown.conf", "--workload", "w.csv", folder=folder)
        check("an unknown policy", unknown.returncode != 0 and "it is one of conservative, easy, sjbf, guarded" in unknown.stderr, unknown)
        picture = run("run", "made.swf", "--gantt", "made.svg", folder=folder)
        for name in ["w.svg", "made.svg"]:
            tree = xml.etree.ElementTree.parse(home / name)
            check(name, tree.getroot().tag.endswith("svg") and len(list(tree.iter())) > 20, picture)
        (home / "bad.swf").write_text("; MaxProcs: 4\n1 2 3\n")
        refusals = [
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
        for words, story in refusals:
            done = run(*words, folder=folder)
            check(" ".join(words), done.returncode == 1 and story in done.stderr and done.stdout == "", done)
        for words in [[], ["--help"], ["run", "--help"], ["rlscheduler", "--help"], ["cluster", "--help"], ["workload", "--help"], ["whatif", "--help"]]:
            done = run(*words, folder=folder)
            check(" ".join([*words]), done.returncode == 0 and done.stdout.startswith("Usage: millrace sim"), done)
    print("\n".join(wrong) if wrong else "sim: words, numbers, pictures and refusals are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
