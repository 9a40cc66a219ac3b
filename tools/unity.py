#!/usr/bin/python3
"""Says which units of a folder are compiled together. CMake asks at configure time, for builds from nothing:

    tools/unity.py [--lines N] FILE...       prints "GROUP FILE" for each file

Most of a unit's time goes into the headers it reads, so units that share one reading of them build in less than half the time. Units keep names
to themselves in unnamed namespaces; two with the same name must not meet, nor one with a name that a header of another declares. A group therefore
takes only files whose names do not clash. The dev preset compiles each unit by itself and finds a missing include."""

import argparse
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "decltype", "void", "int", "bool", "char", "auto", "noexcept", "alignas",
            "static_assert", "explicit", "operator", "const", "MR_ASSERT"}
TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|union|enum(?: class)?) (\w+)")
TEST = re.compile(r"(?:TEST|TEST_F|TEST_P|INSTANTIATE_TEST_SUITE_P)\((\w+), (\w+)")
CALL = re.compile(r"\b([A-Za-z_]\w*)\(")
VARIABLE = re.compile(r"\b([A-Za-z_]\w*)(?:\[[^\]]*\])*(?: =|\{|;)")
CALLED = re.compile(r"(?<![\w.>:])([a-z_]\w*)\(")
LIBRARY = re.compile(r"#include <(boost|openssl|zlib|curses|ncurses|pmix|dlfcn)")
ENUM = re.compile(r"\benum class (\w+)[^{;]*\{([^}]*)\}")


@functools.cache
def enumerators():
    """{name of an enum: its values}, for `using enum`."""
    found = {}
    for path in SRC.rglob("*.[hc]*"):
        for name, values in ENUM.findall(re.sub(r"//.*", "", path.read_text())):
            found.setdefault(name, set()).update(re.findall(r"(?:^|,)\s*(\w+)", values))
    return found


def names_in(line):
    """{name: its meaning} of what a line at the first column declares; rather one too many than one too few. The same alias in two units is no
    clash; anything else with the same name is, so its meaning is None."""
    if line.startswith("using"):
        return dict.fromkeys(names_of(line), line)
    return dict.fromkeys(names_of(line))


def names_of(line):
    if match := TYPE.match(line):
        return {match[1]}
    if match := TEST.match(line):
        return {f"{match[1]}_{match[2]}"}
    if match := re.match(r"using enum (?:\w+::)*(\w+);", line):
        return enumerators().get(match[1], set())
    if match := re.match(r"using (?:\w+::)*(\w+)(?: =|;)", line):
        return {match[1]}
    head = line.split(" {")[0]
    return (set(CALL.findall(head)) or set(VARIABLE.findall(line))) - KEYWORDS


@functools.cache
def read(path):
    """(names that only this file sees, names it shows to others or calls, files it includes, is it better alone)"""
    own, shown, includes, alone = {}, set(), set(), False
    hidden = False
    # A declaration that goes on in the next lines becomes one line.
    text = re.sub(r",\n +(?=\w)", ", ", path.read_text())
    for line in text.splitlines():
        if line.startswith("#include \""):
            includes.add(line.split('"')[1])
        elif line.startswith("#define"):
            own[line.split()[1].split("(")[0]] = None
        elif line.startswith("using namespace"):
            alone = True
        elif line.startswith("namespace {"):
            hidden = True
        elif hidden and line.startswith("}  // namespace"):
            hidden = False
        elif line and line[0] not in " #/}" and not line.startswith(("namespace", "template", "extern", "public", "private", "protected")):
            (own if hidden or line.startswith("static ") else shown).update(names_in(line))
    if path.suffix == ".cpp":  # functions of the system and of other units: write(), time()
        shown |= set(CALLED.findall(text)) - own.keys()
    return own, shown, includes, alone


@functools.cache
def headers_of(path):
    """Every header of ours that the file reads, directly or not."""
    found, todo = set(), [path]
    while todo:
        for name in read(todo.pop())[2]:
            header = SRC / name
            if not header.exists():
                header = path.parent / name
            if header.exists() and header not in found:
                found.add(header)
                todo.append(header)
    return frozenset(found)


class Group:
    def __init__(self, libraries):
        self.files, self.lines, self.own, self.shown, self.libraries = [], 0, {}, set(), libraries

    def takes(self, own, shown, libraries):
        if libraries != self.libraries:
            return False  # who needs a unit of a group links all of it, and must not need a library for that
        both = own.keys() & self.own.keys()
        return (all(own[name] and own[name] == self.own[name] for name in both) and not (own.keys() - both) & self.shown
                and not shown & (self.own.keys() - both))

    def add(self, path, own, shown, lines):
        self.files.append(path)
        self.lines += lines
        self.own |= own
        self.shown |= shown


def groups_of(files, limit):
    groups = []
    for path in files:
        own, shown, _, alone = read(path)
        shown = set(shown).union(*(read(header)[1] for header in headers_of(path)))
        lines = path.read_text().count("\n")
        libraries = set(LIBRARY.findall(path.read_text()))
        place = None if alone else next((g for g in groups if g.lines + lines <= limit and g.takes(own, shown, libraries)), None)
        if place is None:
            place = Group(libraries)
            groups.append(place)
        place.add(path, own, shown, limit if alone else lines)
    return groups


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=2500)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    chosen = parser.parse_args()
    for number, group in enumerate(groups_of(sorted(path.resolve() for path in chosen.files), chosen.lines)):
        if len(group.files) > 1:
            for path in group.files:
                print(f"g{number} {path}")


if __name__ == "__main__":
    main()
