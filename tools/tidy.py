#!/usr/bin/python3
"""Checks the habits that a compiler does not see. Run as the test `tidy`; prints what is wrong and where.

Layout (clang-format 19), lengths of files and functions, first lines that say what belongs in a file, links and paths in the documentation, the
changelog, lists of fields of stored records, words that have no place in this repository, places of planted bugs, and the messages of commits that
origin/main does not have (where there is no such branch, that part is skipped). What was too long before the limits came stands in tools/tidy_exceptions.txt; its numbers
may only become smaller. `tools/tidy.py --update` writes smaller ones, never larger or new ones."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import field_lists

ROOT = Path(__file__).resolve().parent.parent
EXCEPTIONS = ROOT / "tools" / "tidy_exceptions.txt"
FILE_LINES, FUNCTION_LINES, COLUMNS = 500, 70, 120
FORMATTER = "clang-format-19"
NAMED = re.compile(r"`((?:src|docs|tests|tools|schema|packaging|\.ci)/[\w./-]*\w)`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
# Words that speak of how the work is done, and section numbers of a text that is not here.
FOREIGN = [(re.compile(r"\b[Ii]ssue #?\d+\b|\(#\d+\)"), "an issue number"), (re.compile(r"§ ?\d"), "a section of a text that is not in the repository")]
RAW = re.compile(r'\bR"(\w*)\(')
UNBREAKABLE = re.compile(r'\s*(?:// )?(?:"[^" ]*"[;,)}]*|\S+)$')  # a single word, as an address is
SUBJECT, SUBJECT_MAX = re.compile(r"[a-z][\w./, +-]*: \S.*[^.\s]$"), 71  # `area: what it does now`
PATH = re.compile(r"(?:^|[\s'\"(=])/\w")
OF_MACHINE = re.compile(r"(?<![\w.~$}])/(?:work|home|root)/\w")
NUMBER = re.compile(r"(?<![\w&])#\d+\b|\b[Ii]ssue #?\d+\b")
OUTSIDE = re.compile(r"(?<![\w./])(?:\.\./)+[\w.-]+")


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in out.splitlines() if (ROOT / name).is_file()]


def lines_of(name):
    return (ROOT / name).read_text(errors="replace").splitlines()


def check_format(sources):
    if shutil.which(FORMATTER) is None:
        yield f"{FORMATTER} is not installed (Debian's package of that name)"
        return
    done = subprocess.run([FORMATTER, "--dry-run", "-Werror", *sources], cwd=ROOT, capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "clang-format-violations" in line})
    yield from (f"{name}: not formatted ({FORMATTER} -i {name})" for name in wrong)


def check_columns(sources):
    for name in sources:
        table, raw_end = False, None  # tables keep one row a line, and raw strings are what they are
        for number, line in enumerate(lines_of(name), 1):
            if raw_end is None:
                table = "clang-format off" in line or (table and "clang-format on" not in line)
                if len(line) > COLUMNS and not table and not RAW.search(line) and not UNBREAKABLE.match(line):
                    yield f"{name}:{number}: longer than {COLUMNS} columns"
            elif raw_end in line:
                raw_end, line = None, line.split(raw_end, 1)[1]
            if raw_end is None and (opened := list(RAW.finditer(line))):
                end = f'){opened[-1][1]}"'
                raw_end = end if end not in line[opened[-1].end():] else None


def functions_of_cpp(lines):
    """(name, lines) of each function; formatted code closes it at the column where it began."""
    begin = None
    for number, line in enumerate(lines):
        if begin is None:
            if line.endswith(" {") and re.match(r"(?:  )?[\w~\[]", line) and not re.match(r" *(?:namespace|struct|class|enum|union|extern|public|private)\b", line) and "= {" not in line:
                begin = number, len(line) - len(line.lstrip()), re.findall(r"([\w~:]+)\(", line)
        elif line.startswith(" " * begin[1] + "}"):
            yield (begin[2] or ["?"])[0], number - begin[0] + 1
            begin = None


def functions_of_python(name):
    for node in ast.walk(ast.parse((ROOT / name).read_text())):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node.end_lineno - node.lineno + 1


def too_long(sources, scripts):
    """{what: lines} over the limits."""
    found = {}
    for name in sources + scripts:
        lines = lines_of(name)
        if len(lines) > FILE_LINES:
            found[name] = len(lines)
        for function, length in functions_of_cpp(lines) if name in sources else functions_of_python(name):
            if length > FUNCTION_LINES:
                found[f"{name}:{function}"] = max(length, found.get(f"{name}:{function}", 0))
    return found


def known_exceptions():
    rows = [line.split() for line in EXCEPTIONS.read_text().splitlines() if line and not line.startswith("#")]
    return {name: int(number) for number, name in rows}


def landed_exceptions():
    """As they were when the work on this change began, where that is known."""
    done = subprocess.run(["git", "show", "origin/main:tools/tidy_exceptions.txt"], cwd=ROOT, capture_output=True, text=True)
    rows = [line.split() for line in done.stdout.splitlines() if line and not line.startswith("#")]
    return {name: int(number) for number, name in rows} if done.returncode == 0 and rows else known_exceptions()


def check_lengths(found):
    known, landed = known_exceptions(), landed_exceptions()
    if len(known) > len(landed) or sum(known.values()) > sum(landed.values()):
        yield f"tools/tidy_exceptions.txt: {len(known)} rows of {sum(known.values())} lines; there were {len(landed)} of {sum(landed.values())}, and they may only become fewer"
    for what, length in found.items():
        limit = FUNCTION_LINES if ":" in what else FILE_LINES
        if what not in known:
            yield f"{what}: {length} lines; {limit} are allowed"
        elif length > known[what]:
            yield f"{what}: {length} lines; it had {known[what]} and may only become shorter"
    for what, length in known.items():
        if found.get(what, 0) < length:
            yield f"{what}: now {found.get(what, 'within the limit')}, {length} in tools/tidy_exceptions.txt (tools/tidy.py --update)"


def write_exceptions(found):
    known = known_exceptions()
    rows = [f"{min(found[what], length):5} {what}" for what, length in sorted(known.items()) if what in found]
    head = [line for line in EXCEPTIONS.read_text().splitlines() if line.startswith("#")]
    EXCEPTIONS.write_text("\n".join(head + rows) + "\n")


def check_first_lines(sources, scripts):
    for name in sources:
        if not lines_of(name) or not lines_of(name)[0].startswith((f"// {name} - ", f"/* {name} - ")):
            yield f"{name}:1: the first line must read '// {name} - what belongs here'"
    for name in scripts:
        text = "\n".join(lines_of(name)[:3])
        if not re.match(r'(#![^\n]*\n)?"""\S', text):
            yield f"{name}:1: the file must begin with a docstring that says what belongs here"


def exists(name):
    return any((ROOT / f"{name}{end}").exists() for end in ("", ".h", ".cpp", ".py", ".proto", ".md"))


def check_documents(documents):
    for name in documents:
        for number, line in enumerate(lines_of(name), 1):
            for target in LINK.findall(line):
                if not re.match(r"[a-z]+:", target) and not (ROOT / name).parent.joinpath(target).exists():
                    yield f"{name}:{number}: the link to {target} leads nowhere"
            if name != "CHANGELOG.md":  # it speaks of what was
                yield from (f"{name}:{number}: there is no {path}" for path in NAMED.findall(line) if not exists(path))


def check_changelog():
    seen = {}
    for number, line in enumerate(lines_of("CHANGELOG.md"), 1):
        if line.startswith("- "):
            words = re.sub(r"\W+", " ", line).lower()[:100]
            if words in seen:
                yield f"CHANGELOG.md:{number}: begins like line {seen[words]}"
            seen[words] = number
    sections = {line[4:] for line in lines_of("CHANGELOG.md") if line.startswith("### ")}
    if odd := sections - {"Added", "Changed", "Fixed", "Removed"}:
        yield f"CHANGELOG.md: sections are Added, Changed, Fixed and Removed, not {', '.join(sorted(odd))}"


def check_words(names):
    for name in names:
        if name == "tools/tidy.py":
            continue
        for number, line in enumerate(lines_of(name), 1):
            yield from (f"{name}:{number}: names {what}: {line.strip()[:80]}" for pattern, what in FOREIGN if pattern.search(line))
            if name.endswith(".md"):  # tests may read recordings beside the repository, and skip without them
                yield from (f"{name}:{number}: there is no {path} in the repository" for path in OUTSIDE.findall(line)
                            if not (ROOT / name).parent.joinpath(path).exists())


def check_mutants():
    sys.path.insert(0, str(ROOT / "tests" / "mutants"))
    from mutants import MUTANTS
    for name, file, found, *_ in MUTANTS:
        if "".join(line + "\n" for line in lines_of(file)).count(found) != 1:
            yield f"tests/mutants/mutants.py: the place of {name} is not once in {file}"


def new_commits():
    """[(hash, whether it is a merge, message)] of those that origin/main does not have; None where that is not known."""
    done = subprocess.run(["git", "log", "-z", "--format=%h %P%n%B", "origin/main..HEAD"], cwd=ROOT, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        return None
    heads = [one.partition("\n") for one in done.stdout.split("\0") if one]
    return [(head.split()[0], len(head.split()) > 2, message) for head, _, message in heads]


def check_commits(commits):
    for commit, is_merge, message in commits:
        subject = message.split("\n")[0]
        if not is_merge and (not SUBJECT.match(subject) or len(subject) > SUBJECT_MAX):
            yield f"commit {commit}: the subject must read 'area: what it does now', in at most {SUBJECT_MAX} characters: {subject}"
        if PATH.search(subject) or OF_MACHINE.search(message):
            yield f"commit {commit}: names a path of a machine: {subject}"
        yield from (f"commit {commit}: names an issue number: {line}" for line in message.splitlines() if NUMBER.search(line))


def main():
    sources = tracked("src/*.cpp", "src/*.h", "tests/*.cpp", "tests/*.h", "tests/*.c")
    scripts = tracked("*.py")
    found = too_long(sources, scripts)
    if "--update" in sys.argv:
        write_exceptions(found)
    texts = [name for name in tracked() if not name.startswith(("tests/golden/", "tests/fuzz/corpus/", "LICENSE"))]
    wrong = [*check_format(sources), *check_columns(sources), *check_lengths(found), *check_first_lines(sources, scripts),
             *field_lists.check(sources, lines_of), *check_documents(tracked("*.md")), *check_changelog(), *check_words(texts), *check_mutants()]
    commits = new_commits()
    wrong += check_commits(commits or [])
    seen = "no commits, because there is no origin/main to compare with" if commits is None else f"{len(commits)} commits"
    print("\n".join(wrong) if wrong else f"tidy: {len(sources)} C++ files, {len(scripts)} scripts, {len(texts)} texts, {seen}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
