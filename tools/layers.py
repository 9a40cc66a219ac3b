#!/usr/bin/python3
"""Checks the direction of includes: which folder under src/ may know which, and who may know the generated messages; and that a type has its name
for itself: two of one name in one program are one to the linker. Run as a test; prints what is wrong."""
import pathlib
import re
import sys

CORE = {"base", "core/model", "core/ledger", "core/admission", "core/planner"}
OUTER = {"ports", "wire", "config", "schema"}
ALLOWED = {
    "base": set(),
    "core/model": {"base"},
    "core/ledger": {"base", "core/model"},
    "core/admission": {"base", "core/model", "core/ledger"},
    "core/planner": {"base", "core/model", "core/ledger"},
    "config": {"base", "core/model"},
    "ports": {"base", "core/model", "core/ledger", "schema"},  # orders and reports of our own agents; nothing else
    "wire": {"base", "core/model", "core/ledger", "ports", "schema"},
    "store": {"base", "ports", "wire", "core/model", "core/ledger"},
    "controller": CORE | OUTER,
    "adapters": {"base", "schema", "ports", "wire", "core/model", "core/ledger"},
    "isolation": {"base", "schema"},
    "accelerators": {"base"},
    "mpi": {"base", "schema"},
    "agent": {"base", "schema", "ports", "wire", "config", "core/model", "core/ledger", "isolation"},
    "step/step_manager": {"base", "schema", "wire", "core/model"},  # pure, too: it runs in the simulation
    "step": {"base", "schema", "ports", "wire", "config", "core/model", "core/ledger", "isolation", "mpi", "step/step_manager"},
    "client": {"base", "schema", "ports", "wire"},
    "cli/options": {"base", "schema", "client", "wire", "config", "core/model"},
    "cli/render": {"base", "schema", "client", "wire", "config", "core/model"},
    "cli": {"base", "schema", "client", "wire", "config", "core/model", "ports", "cli/options", "cli/render", "mpi"},
    "cli/compat": {"base", "schema", "client", "wire", "config", "cli", "cli/options", "cli/render"},
    "smap": {"base", "schema", "client", "wire", "cli", "cli/options", "cli/render"},
    "sim": CORE | OUTER | {"store", "controller", "adapters", "agent", "step/step_manager", "client"},
    "platform": {"base", "ports", "wire"},  # wire for frames only
    "apps": None,  # builds the object graph, knows everything
}
# "schema" is the generated messages: a header of theirs, or a name of theirs that is declared.
MESSAGES = re.compile(r'#include "[\w/]+\.pb\.h"|namespace millrace::wire \{')
# What core/ must never touch: the outside world and what makes two runs differ.
CORE_FORBIDDEN = re.compile(
    r"#include <(chrono|thread|mutex|atomic|fstream|iostream|random|unordered_map|unordered_set|filesystem|unistd\.h|"
    r"sys/.*|time\.h|ctime|cmath|future|condition_variable)>|\b(float|double)\b|std::getenv|std::hash\b"
)
# Boost and OpenSSL stay out of headers, so that nobody pays for them by including us.
HEADER_FORBIDDEN = re.compile(r"#include <(boost|openssl)/")


def folder_of(path: str) -> str | None:
    return max((f for f in ALLOWED if path.startswith(f + "/")), key=len, default=None)


def types_of(lines: list[str]):
    """(namespace, name) of each type that other units can see."""
    hidden, namespace = False, ""
    for line in lines:
        if line.startswith("namespace {"):
            hidden = True
        elif hidden and line.startswith("}  // namespace"):
            hidden = False
        elif match := re.match(r"namespace (\w[\w:]*) \{", line):
            namespace = match[1]
        elif not hidden and (match := re.match(r"(?:struct|class|enum(?: class)?) (\w+)(?: final)?(?: :[^;]*)? \{", line)):
            yield namespace, match[1]


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    wrong = []
    types: dict[tuple[str, str], str] = {}
    for file in sorted(root.rglob("*")):
        if file.suffix not in {".h", ".cpp"}:
            continue
        name = file.relative_to(root).as_posix()
        here = folder_of(name)
        if here is None:
            wrong.append(f"src/{name}: in no folder of the map")
            continue
        lines = file.read_text().splitlines()
        if not lines or not lines[0].startswith(f"// src/{name} - "):
            wrong.append(f"src/{name}:1: the door plate must read '// src/{name} - ...'")
        is_test = name.endswith(("_test.cpp", "_fixture.h", "_harness.h"))
        for seen in types_of(lines):
            if types.setdefault(seen, name) != name:
                wrong.append(f"src/{name}: a type {seen[1]} is in src/{types[seen]} too; the linker would mix them up")
        for number, line in enumerate(lines, 1):
            code = line.split("//")[0]
            if (here.startswith("core/") or here == "step/step_manager") and not is_test and CORE_FORBIDDEN.search(code):
                wrong.append(f"src/{name}:{number}: {here} is pure: {line.strip()}")
            if file.suffix == ".h" and HEADER_FORBIDDEN.search(code):
                wrong.append(f"src/{name}:{number}: a header must not include this: {line.strip()}")
            match = re.match(r'#include "([^"]+)"', line)
            if MESSAGES.match(line) and here != "wire":
                there = "schema"
            elif match:
                there = folder_of(match[1])
            else:
                continue
            if there is None or ALLOWED[here] is None or is_test:
                continue
            if there != here and there not in ALLOWED[here]:
                wrong.append(f"src/{name}:{number}: {here} must not know {there}")
    print("\n".join(wrong) if wrong else "layers: every include points the right way")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
