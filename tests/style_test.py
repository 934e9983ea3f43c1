"""Text is free of the habits that mark it as translated: CONTRIBUTING.md, "English".

usage: style_test.py [FILE...], in the root of the repository; by default all files
"""

import ast
import pathlib
import re
import sys

# These wait for a rewrite.
NOT_YET = ("recorder/collector", "schema/tape", "replayer/engine", "docs/decisions", "docs/tape-format.md", "tests/")
SKIPPED = ("build", ".git", "tests/golden", "tests/fuzz/corpus")

SENTENCE = r"(?:^|(?<=[.!?]\s)|(?<=[.!?]\s\s))"
HABITS = {
    'a sentence begins with "Of"': re.compile(SENTENCE + r"Of\s[^.!?]*"),
    "a clause with what or who is a subject": re.compile(SENTENCE + r"(?:What|Who|Whoever)\s[^.?!|]*(?:[.!]|$)"),
    'a directory is called "folder"': re.compile(r"(?<![`_\w/'\"-])[Ff]olders?(?![`_\w(/'\"])"),
}
VERBS = ("embed", "exceed", "feed", "need", "read", "seed", "shed", "speed", "succeed")


def comment_blocks(path, text):
    """(line number, joined text) of the comments of a source."""
    is_script = path.suffix in (".py", ".cmake", ".txt", ".sh", "")
    whole = re.compile(r"\s*#\s?(?!!)(.*)" if is_script else r"\s*(?://+|/\*+|\*)\s?(.*)")
    behind = re.compile(r"\s#\s(.*)" if is_script else r"\s//\s(.*)")
    block, begin = [], 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if found := whole.fullmatch(line):
            begin = begin if block else number
            block.append(found[1])
            continue
        if block:
            yield begin, " ".join(block)
            block = []
        if found := behind.search(line):
            yield number, found[1]


def prose_blocks(text):
    """(line number, text) of the paragraphs and items of a Markdown page, without code."""
    block, begin, is_code = [], 0, False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.startswith("```"):
            is_code = not is_code
            continue
        is_start = re.match(r"\s*(?:[-*|#>]|\d+\.)\s", line)
        if block and (is_code or is_start or not line.strip()):
            yield begin, " ".join(block)
            block = []
        if is_code or not line.strip() or line.startswith(("    ", "#")) or "|" in line:
            continue
        begin = begin if block else number
        block.append(re.sub(r"^\s*(?:[-*>]|\d+\.)\s+", "", line.strip()))


def docstrings_and_names(text):
    """(line number, docstring or "", name) of each function and class."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or "", node


def is_participle(node):
    """The name of a function that is neither a property nor says is_ or has_."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.decorator_list:
        return False
    words = node.name.strip("_").split("_")
    return len(words) == 1 and words[0].endswith("ed") and not words[0].endswith(VERBS)


def complaints(path):
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        blocks = list(prose_blocks(text))
    else:
        blocks = list(comment_blocks(path, text))
    if path.suffix == ".py":
        for line, docstring, node in docstrings_and_names(text):
            blocks += [(line, paragraph) for paragraph in docstring.split("\n\n")]
            if is_participle(node):
                yield f"{path}:{line}: a function is named by a participle: {node.name}"
    for line, block in blocks:
        for habit, pattern in HABITS.items():
            for found in pattern.finditer(block):
                yield f"{path}:{line}: {habit}: {found[0][:80]}"


def files(arguments):
    kinds = {".h", ".cc", ".c", ".py", ".js", ".md", ".cmake", ".capnp"}
    if arguments:
        return [pathlib.Path(argument) for argument in arguments]
    found = [path for path in pathlib.Path().rglob("*") if path.suffix in kinds or path.name in ("dev", "CMakeLists.txt")]
    return sorted(path for path in found if path.is_file() and not str(path).startswith((*SKIPPED, *NOT_YET)))


def main():
    found = [complaint for path in files(sys.argv[1:]) for complaint in complaints(path)]
    print("\n".join(found), f"{len(found)} complaints", sep="\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
