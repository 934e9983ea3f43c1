"""Mistakes in Python: patterns on a text in which comments, strings, imports and signatures are blank."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from .mistake import Change
from .swaps import common_changes, swap_pairs

LOGIC = {" and ": " or ", " or ": " and "}
CONDITION = re.compile(r"^[ \t]*(?:el)?(?:if|while) (?P<condition>[^\n:=]+(?:[=!<>]=[^\n:=]+)*):$", re.M)
NEGATION = re.compile(r"\bnot (?!in\b)")
LEAVES = re.compile(r"^[ \t]*(break|continue)$", re.M)


def blank(text: str) -> str:
    """`text` with spaces instead of what does nothing or only declares."""
    code = list(text)
    starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def erase(begin: int, end: int) -> None:
        code[begin:end] = [char if char == "\n" else " " for char in code[begin:end]]

    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if re.match("COMMENT|STRING|FSTRING", tokenize.tok_name[token.type]):
            erase(starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1])
            if token.type != tokenize.COMMENT:  # a quote stays
                code[starts[token.start[0] - 1] + token.start[1]] = '"'
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.AnnAssign)):
            assert node.end_lineno is not None
            erase(starts[node.lineno - 1], starts[node.end_lineno])
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            erase(starts[node.lineno - 1], starts[node.body[0].lineno - 1])
    return "".join(code)


def can_be_forgotten(node: ast.AST) -> bool:
    """Not the assignment of a new name, without which nothing runs."""
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], (ast.Attribute, ast.Subscript))
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Yield))
    return is_call or isinstance(node, (ast.AugAssign, ast.Raise))


def drop_statements(text: str) -> Iterator[Change]:
    encoded = text.encode()  # which the columns of `ast` count in
    starts = [0, *(found.end() for found in re.finditer(b"\n", encoded))]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and can_be_forgotten(node):
            assert node.end_lineno is not None and node.end_col_offset is not None
            begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            yield "dropped", len(encoded[:begin].decode()), len(encoded[:end].decode()), "pass"


def changes(text: str) -> Iterator[Change]:
    code = blank(text)
    yield from common_changes(code)
    yield from swap_pairs(code, "logic", LOGIC)
    for found in CONDITION.finditer(code):
        begin, end = found.span("condition")
        yield "condition", begin, end, f"not ({text[begin:end]})"
    for found in NEGATION.finditer(code):
        yield "condition", found.start(), found.end(), ""
    for found in LEAVES.finditer(code):
        yield "control", found.start(1), found.end(1), "continue" if found[1] == "break" else "break"
    yield from drop_statements(text)
