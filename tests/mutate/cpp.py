"""Mistakes in C++: patterns on a text in which only the bodies of functions are left."""

import re
from collections.abc import Iterator

from .mistake import Change
from .swaps import common_changes, swap_pairs

# Comments, strings and characters; preprocessor lines.
NO_CODE = re.compile(
    r"//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/"
    r"|R\"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)\""
    r"|\"(?:[^\"\\\n]|\\.)*\"|(?<![\w])'(?:[^'\\\n]|\\.)+'"
    r"|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*",
    re.S | re.M,
)
# Not the body of a function: declarations, and checks at compile time.
DECLARATION = re.compile(
    r"\b(?:static_assert|asm|HEAPTAPE_CHECK)\s*\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)\s*;"
    r"|\[\[[^\]]*\]\]|^[ \t]*(?:struct|class|union)\b[^;{]*"
    r"|^[ \t]*(?:(?:inline|static) )*constexpr\b[^;{}()]*[=;{][^;]*;"
    r"|^[ \t]*(?:using|namespace|template|friend|extern|typedef)\b[^;{]*"
    r"|^[ \t]*enum\b[^{;]*\{[^}]*\}"
    r"|^[ \t]*case\b[^\n]*:|^[ \t]*k[A-Z]\w*(?: = [^,\n]*)?,?[ \t]*$"
    r"|^(?:(?:public|private|protected):)",
    re.M,
)
LOGIC = {" && ": " || ", " || ": " && "}
BITS = {" << ": " >> ", " >> ": " << ", " | ": " & ", " & ": " | "}
BOUNDS = {"lower_bound": "upper_bound", "upper_bound": "lower_bound", "front()": "back()", "back()": "front()"}
STEP = {"++": "--", "--": "++"}
NEGATION = re.compile(r"(?<=[( ])!(?=[\w(:*])")
CONDITION = re.compile(r"\b(?:if|while) \(")
CHOICE = re.compile(r" \? ([\w.:>()-]+) : ([\w.:>()-]+)(?=[;,)])")
LEAVES = re.compile(r"\b(break|continue);")
# The head of a call, an assignment or a step. A declaration has a space behind its type.
EFFECT = re.compile(r"(?:\*|\+\+|--)?[a-z_](?:[\w.:\[\]]|->)*(?:\(| (?:[-+*/%&|^]|<<|>>)?= |\+\+;|--;|;)")
GUARDED = re.compile(r"^[ \t]*(?P<guard>if \([^\n{]*\) [^\n{;]+;)[ \t]*$", re.M)
KEYWORDS = re.compile(r"(?:return|if|for|while|switch|do|else|delete|throw|goto|co_\w+|new|sizeof|case)\b")


def blank(text: str) -> str:
    """`text` with spaces in place of comments, strings and declarations; all else, and quotes, stay where they are."""
    text = NO_CODE.sub(lambda found: re.sub(r'[^\n"]', " ", found[0]), text)
    return DECLARATION.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def closing(text: str, opening: int) -> int:
    """The place of the bracket that closes the one at `opening`, or -1."""
    depth = 0
    for place in range(opening, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    return -1


def negate_conditions(text: str) -> Iterator[Change]:
    for found in CONDITION.finditer(text):
        end = closing(text, found.end() - 1)
        condition = text[found.end() : end]
        # One that declares a name cannot be negated.
        if end > 0 and ";" not in condition and " = " not in condition:
            yield "condition", found.end(), end, f"!({condition})"
    for found in NEGATION.finditer(text):
        yield "condition", found.start(), found.end(), ""


def drop_statements(text: str) -> Iterator[Change]:
    last_end = 0
    for found in re.finditer("[;{}]", text):
        begin = found.end() - len(text[last_end : found.end()].lstrip())
        last_end = found.end()
        is_first = text[text.rfind("\n", 0, begin) + 1 : begin].isspace()
        if found[0] == ";" and is_first and EFFECT.match(text, begin) and not KEYWORDS.match(text, begin):
            yield "dropped", begin, found.end(), ";"
    for found in GUARDED.finditer(text):
        # The statement may belong to an `else`, and an `if` without one is left then.
        yield "dropped", found.start("guard"), found.end("guard"), ";"


def change_control(text: str) -> Iterator[Change]:
    for found in CHOICE.finditer(text):
        yield "choice", found.start(), found.end(), f" ? {found[2]} : {found[1]}"
    for found in LEAVES.finditer(text):
        yield "control", found.start(), found.end(), ";"
        yield "control", found.start(1), found.end(1), "continue" if found[1] == "break" else "break"


def changes(text: str) -> Iterator[Change]:
    return changes_of(blank(text))


def changes_of(code: str) -> Iterator[Change]:
    yield from common_changes(code)
    yield from swap_pairs(code, "logic", LOGIC)
    yield from swap_pairs(code, "bits", BITS)
    yield from swap_pairs(code, "opposite", BOUNDS)
    yield from swap_pairs(code, "step", STEP)
    yield from negate_conditions(code)
    yield from drop_statements(code)
    yield from change_control(code)
