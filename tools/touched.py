"""Which tests a change touches: of each folder its own, those of every folder that may know it (tools/layers.py), and the system tests it serves."""

import re
import subprocess
from pathlib import Path

from layers import ALLOWED, folder_of

SYSTEM_TESTS = Path(__file__).resolve().parent.parent / "tests" / "system"

# System tests of a folder. A folder that is not named here serves all of them.
SYSTEM = {
    "accelerators": ["gpu"],
    "cli/compat": ["compat", "submit"],
    "cli/render": ["golden", "ecosystem", "accounting", "compat", "records", "step_facts", "user_pages"],
    "core/planner": ["scheduling", "suspend", "power", "user_pages"],
    "isolation": ["isolation", "step_resources", "gpu", "suspend"],
    "mpi": ["steps", "mpi"],
    "sim": ["sim"],
    "smap": ["ecosystem"],
    "step": ["steps", "step_facts", "step_options", "step_resources", "step_trouble", "het_steps", "container", "x11", "suspend", "gpu", "isolation",
             "submit", "no_kill", "special_requests"],
    "step/step_manager": ["steps", "step_facts", "step_options", "step_resources", "step_trouble", "het_steps", "no_kill", "special_requests"],
    "store": ["kill_after_ack", "random_kill", "bad_input", "repair", "up"],
}
WHOLE_CORE = ["scenarios", "properties", "requests", r"simulation\..*", "references", r"golden\..*"]


def changed_files(root):
    """Of the commits that origin/main does not have, and of the working tree."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    base = git("merge-base", "HEAD", "origin/main")
    if base.returncode != 0:
        return ["CMakeLists.txt"]  # what changed is not known: everything
    names = git("diff", "--name-only", "-z", base.stdout.strip()).stdout.split("\0")
    names += git("ls-files", "--others", "--exclude-standard", "-z").stdout.split("\0")
    return sorted({name for name in names if name})


def who_knows(folder):
    """The folder and all that may include it, directly or not; apps are not counted, because they know everything."""
    found, todo = {folder}, [folder]
    while todo:
        here = todo.pop()
        for other, allowed in ALLOWED.items():
            if allowed and here in allowed and other not in found:
                found.add(other)
                todo.append(other)
    return found


def choose(names):
    """([test programs, as regular expressions], [files of system tests], whether some of these run only with --extended)"""
    programs, systems, everything = {"tidy", "layers"}, set(), False
    for name in names:
        folder = folder_of(name.removeprefix("src/")) if name.startswith("src/") else None
        if name.endswith((".md", "_exceptions.txt")) or name.startswith((".clang", ".git", "tests/mutants/")) or name in ("LICENSE", "tools/tidy.py", "tools/touched.py"):
            systems |= {"user_pages"} if name.startswith("docs/user/") else {"three_machines"} if name == "docs/admin/install.md" else set()
        elif folder and not name.endswith("CMakeLists.txt"):
            known = who_knows(folder)
            programs |= {f"unit\\.{one.replace('/', '_')}(\\.real)?" for one in known}
            if folder not in ("smap", "accelerators"):
                programs.add(r"fuzz\..*")
            if "sim" in known:
                programs |= set(WHOLE_CORE)
            if not name.endswith("_test.cpp"):
                systems |= set(SYSTEM.get(folder, ["."]))
        elif match := re.match(r"tests/system/test_(\w+)\.py", name):
            systems.add(match[1])
        elif match := re.match(r"tests/system/(cgroup2|powercut)/", name):
            systems.add(match[1])
        elif match := re.match(r"tests/(scenarios|property|simulation|references|requests|golden)/", name):
            programs.add({"property": "properties", "scenarios": "scenarios", "references": "references", "requests": "requests"}.get(match[1], f"{match[1]}\\..*"))
        elif name.startswith("tests/fuzz/"):
            programs |= {r"fuzz\..*", "requests"}
        elif name.startswith("tests/fakes/"):
            programs.add("unit\\.accelerators")
            systems.add("gpu")
        elif name.startswith("tests/system/"):
            systems.add(".")
        else:
            everything = True  # CMake, schema/, mill, tools/ and what nobody has thought of
    if everything:
        programs, systems = {".*"}, {"."}
    there = [f"test_{name}.py" for name in sorted(systems) if (SYSTEM_TESTS / f"test_{name}.py").exists()]
    extended = any("pytest.mark.extended" in (SYSTEM_TESTS / file).read_text() for file in there)
    return sorted(programs), ["."] if "." in systems else there, extended and "." not in systems
