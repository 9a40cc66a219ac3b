"""Checks the lists of fields of stored records (src/base/fields.h): every member is in its record's list, and no number of a list is given twice.

A member that is missing in its list would be neither stored nor compared, so no test of a recovery could miss it."""

import re

STRUCT = re.compile(r"^struct (\w+)(?: final)? \{$")
VISIT = re.compile(r"visit\((\d+), \"([^\"]*)\", (.*)\);$")
NUMBERED_TWICE = re.compile(r"field::flag\(")  # bits of one number


def records_of(lines):
    """(first line, name, lines inside) of each struct at the top level that has a list of fields."""
    begin = None
    for number, line in enumerate(lines):
        if match := STRUCT.match(line):
            begin = number, match[1]
        elif begin and line.startswith("}"):
            inside = lines[begin[0] + 1 : number]
            if any("static void fields(" in each for each in inside):
                yield begin[0] + 1, begin[1], inside
            begin = None


def strip_initializer(declaration):
    """Without what stands in braces, angle brackets and parentheses."""
    while True:
        shorter = re.sub(r"\{[^{}]*\}|<[^<>]*>|\([^()]*\)", "", declaration)
        if shorter == declaration:
            return declaration
        declaration = shorter


def members_of(inside):
    """The names of the data members. A function ends with a brace, a member with a semicolon."""
    statement, depth = "", 0
    for line in inside:
        code = line.split("//")[0].strip()
        statement += " " + code
        depth += code.count("{") - code.count("}")
        if depth > 0 or not code.endswith((";", "}")):
            continue
        is_function = re.search(r"\)\s*(const)?\s*;$", statement)
        words = strip_initializer(statement).strip()
        statement = ""
        if is_function:
            continue
        if not words.endswith(";") or re.match(r"(static|using|friend|template|enum|bool operator)\b", words) or "operator" in words:
            continue
        for part in words.rstrip(";").split(","):
            yield part.split("=")[0].split()[-1]


def check_record(name, first, record, inside):
    text = " ".join(line.strip() for line in inside)
    visits = [VISIT.match(each + ";") for each in re.findall(r"visit\(\d+, .*?\)(?=;)", text)]
    listed = re.findall(r"self\.(\w+)", " ".join(visit[3] for visit in visits if visit))
    for member in members_of(inside):
        if member not in listed:
            yield f"{name}:{first}: {record}: the member {member} is not in its list of fields"
    numbers = {}
    for visit in filter(None, visits):
        number, field = visit[1], visit[3]
        known = numbers.setdefault(number, field)
        if number != "0" and known is not field and not (NUMBERED_TWICE.match(field) and NUMBERED_TWICE.match(known)):
            yield f"{name}:{first}: {record}: two fields have the number {number}"
    once = [visit[3] for visit in visits if visit and re.match(r"self\.\w+$", visit[3])]
    yield from (f"{name}:{first}: {record}: {field[5:]} is listed twice" for field in sorted({f for f in once if once.count(f) > 1}))


def check(sources, lines_of):
    for name in sources:
        if name.startswith("src/"):
            for first, record, inside in records_of(lines_of(name)):
                yield from check_record(name, first, record, inside)
