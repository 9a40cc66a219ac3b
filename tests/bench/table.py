"""The table: what was measured, on whose side, against which goal."""

from dataclasses import dataclass
from typing import Callable, Optional


@dataclass
class Row:
    name: str
    unit: str                     # "/s": more is better; everything else: less is better
    goal: str
    reached: Callable             # (ours, theirs, limit) -> bool, or None when it cannot be said
    reference: Optional[float]    # Slurm's number of an earlier run on such a machine, when Slurm is not measured
    format: str = "{:.3g}"

    @property
    def more_is_better(self):
        return self.unit == "/s"


def times(factor, more):
    def check(ours, theirs, limit):
        if theirs is None:
            return None
        return ours >= factor * theirs if more else ours * factor <= theirs
    return check


ROWS = [
    # Slurm's own: one backfill cycle over 10,000 pending jobs on 1,000 nodes, of which it tried 500; 14 s on 5,000 nodes, 76 tried.
    Row("planning pass, 10k x 1k", "s", "Slurm: 7 s for 500 of 10,000 jobs", lambda o, t, l: o <= 0.7, 7, "{:.4f}"),
    Row("planning pass, 100k x 10k", "s", "< 1 s", lambda o, t, l: o < 1, None, "{:.4f}"),
    Row("growth of a pass, 100x", "x", "<= 20 (twice linear in jobs)", lambda o, t, l: o <= 20, None, "{:.1f}"),
    Row("pass after a submit, 100k x 10k", "ms", "< 5 ms", lambda o, t, l: o < 5, None, "{:.2f}"),
    Row("pass after an end, 100k x 10k", "ms", "< 5 ms", lambda o, t, l: o < 5, None, "{:.2f}"),
    Row("planner busy meanwhile", "", "", lambda o, t, l: None, None, "{:.2f}"),
    *(Row(f"{command} p95, {when}", unit, goal, check, None, "{:.2f}")
      for command in ("sbatch", "squeue -j", "squeue -u")
      for when, unit, goal, check in (("at rest", "ms", "", lambda o, t, l: None), ("planning", "ms", "", lambda o, t, l: None),
                                      ("planning against rest", "x", "<= 2", lambda o, t, l: o <= 2))),
    Row("jobs, many slots", "/s", ">= 10x and a third of the limit",
        lambda o, t, l: None if t is None or l is None else o >= 10 * t and o >= l / 3, 70, "{:.0f}"),
    Row("CPU time per job, many slots", "ms", "", lambda o, t, l: None, None, "{:.2f}"),
    Row("jobs, 8 slots", "/s", ">= 20x", times(20, True), 13, "{:.1f}"),
    Row("CPU time per job, 8 slots", "ms", "", lambda o, t, l: None, None, "{:.2f}"),
    Row("sbatch, sequential", "/s", ">= 2.5x", times(2.5, True), 175, "{:.0f}"),
    Row("CPU time per sbatch", "ms", "", lambda o, t, l: None, None, "{:.2f}"),
    Row("sbatch, 8 parallel", "/s", ">= 3x", times(3, True), 350, "{:.0f}"),
    Row("CPU time per sbatch, 8 parallel", "ms", "", lambda o, t, l: None, None, "{:.2f}"),
    Row("submissions, library", "/s", ">= 10,000/s, durable", lambda o, t, l: o >= 10_000, 2300, "{:.0f}"),
    Row("CPU time per submission, library", "ms", "", lambda o, t, l: None, None, "{:.2f}"),
    Row("srun true", "s", "<= a third", times(3, False), 0.036, "{:.4f}"),
    Row("srun -n 2", "s", "<= a sixth", times(6, False), 0.14, "{:.4f}"),
    Row("steps, sequential", "/s", ">= 5x", times(5, True), 27, "{:.0f}"),
    Row("steps, 8 parallel", "/s", ">= 5x", times(5, True), 55, "{:.0f}"),
    *(Row(f"step on {nodes} nodes", "s", "", lambda o, t, l: None, None, "{:.3f}") for nodes in (2, 8, 10, 100, 1000)),
    Row("step, growth for each time as many nodes", "x", "<= 1.1 (linear)", lambda o, t, l: o <= 1.1, None, "{:.2f}"),
    Row("supervisor, RSS", "kB", "< 3,000 kB", lambda o, t, l: o < 3000, None, "{:.0f}"),
    Row("supervisor, anonymous", "kB", "< 1,000 kB", lambda o, t, l: o < 1000, None, "{:.0f}"),
    Row("agent, growth over all jobs", "x", "<= 1.1 (flat over 100,000 jobs)", lambda o, t, l: o <= 1.1, None, "{:.2f}"),
    Row("squeue, 10k", "s", "", lambda o, t, l: None, None, "{:.4f}"),
    Row("squeue, 100k", "s", ">= 5x faster", times(5, False), 1.3, "{:.3f}"),
    Row("memory per job, 10k", "kB", "<= 1.5 kB", lambda o, t, l: o <= 1.5, 4.4, "{:.2f}"),
    Row("memory per job, 100k", "kB", "<= 1.5 kB", lambda o, t, l: o <= 1.5, 4.4, "{:.2f}"),
    Row("memory per array task", "kB", "next to nothing (<= 0.05 kB)", lambda o, t, l: o <= 0.05, None, "{:.4f}"),
    Row("restart", "s", "<= half", times(2, False), 2.4, "{:.2f}"),
    Row("restart, one job listed", "s", "", lambda o, t, l: None, None, "{:.2f}"),
    *(Row(f"{question} ({queue} jobs)", "ms", "<= half", times(2, False), None, "{:.2f}")
      for question in ("squeue", "squeue -j", "squeue -u", "squeue -t R", "squeue --start", "sinfo", "sinfo -N -l", "scontrol show job", "scontrol show node", "scontrol show partition",
                       "scontrol show config", "scontrol ping", "sdiag")
      for queue in ("0", "10k", "100k")),
    Row("jobs beside a queue of 100k", "/s", "", lambda o, t, l: None, None, "{:.0f}"),
    Row("jobs in a storm of squeue", "/s", "", lambda o, t, l: None, None, "{:.0f}"),
    Row("cost of the storm", "%", "< 10 %", lambda o, t, l: o < 10, None, "{:.1f}"),
    Row("answers during the storm", "", "", lambda o, t, l: None, None, "{:.0f}"),
    Row("jobs lost by kill -9", "jobs", "0", lambda o, t, l: o == 0, 199, "{:.0f}"),
    Row("id given out again", "", "no (0)", lambda o, t, l: o == 0, 1, "{:.0f}"),
]


def better(row, values):
    """The better of several settings, with the name of the setting."""
    present = {setting: value for setting, value in values.items() if value is not None}
    if not present:
        return None, ""
    choose = max if row.more_is_better else min
    setting = choose(present, key=present.get)
    return present[setting], setting


def ratio(row, ours, theirs):
    """How many times better we are."""
    if ours is None or theirs is None:
        return None
    above, below = (ours, theirs) if row.more_is_better else (theirs, ours)
    if below == 0:
        return None
    return above / below


def judge(slurm, ours, limit):
    """slurm: {setting: {measure: value}}. One dictionary per row that we have a number for."""
    lines = []
    for row in ROWS:
        mine = ours.get(row.name)
        theirs, setting = better(row, {name: found.get(row.name) for name, found in slurm.items()})
        from_reference = theirs is None and row.reference is not None and not slurm
        if from_reference:
            theirs = row.reference
        if mine is None and (theirs is None or from_reference):
            continue
        lines.append({"measure": row.name, "unit": row.unit, "slurm": theirs, "slurm_setting": "earlier run" if from_reference else setting,
                      "millrace": mine, "ratio": ratio(row, mine, theirs), "goal": row.goal,
                      "reached": None if mine is None else row.reached(mine, theirs, limit), "format": row.format})
    return lines


def render(lines):
    cells = [("measure", "Slurm", "settings", "Millrace", "ratio", "goal", "")]
    for line in lines:
        number = lambda value: "-" if value is None else line["format"].format(value) + ("" if line["unit"] in ("jobs", "") else " " + line["unit"])
        verdict = {True: "reached", False: "MISSED", None: ""}[line["reached"]]
        factor = "-" if line["ratio"] is None else f"{line['ratio']:.1f}x"
        cells.append((line["measure"], number(line["slurm"]), line["slurm_setting"], number(line["millrace"]), factor, line["goal"], verdict))
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    right = {1, 3, 4}
    out = []
    for row in cells:
        out.append("  ".join(cell.rjust(width) if i in right else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    out.insert(1, "-" * max(len(line) for line in out))
    return "\n".join(out)
