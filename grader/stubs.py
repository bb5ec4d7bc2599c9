"""Derive the file a learner starts from out of a solution.

What stays is the statement: the module docstring, the imports exactly as they
are (the learner gets the tools that the solution uses), public constants, and
every public class and function with its decorators, signature and docstring.
What goes is the answer: bodies, and every name that starts with an underscore
(helpers, private constants and methods; dunder methods are public). Comments
outside bodies go too, unless they trail a line that stays.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from grader.errors import SpecError

Level: TypeAlias = Literal["guided", "blank"]
LEVELS: tuple[Level, ...] = ("guided", "blank")

INDENT = " " * 4
# A stub's TODO is read like a solution's Step, so that a stub of a stub is the stub.
STEP = re.compile(r"#\s*(?:Step|TODO)\s+(\d+):\s*(.*)")
# No answer is longer, and parsing more than this is a way to hang.
MOST_BYTES = 1_000_000

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"


def generate(solution_source: str, level: Level = "guided") -> str:
    """Return the stub of a solution.

    At level "guided" each body is its `# Step n: …` comments as `# TODO n: …`
    lines, then `raise NotImplementedError`. A comment line right below a step
    continues it; steps of nested blocks move out to the body's indentation. A
    leading `super().__init__()` stays, since without it the first layer that
    the learner assigns fails for a reason this kata is not about. At level
    "blank" a body is its docstring and the raise.

    The result compiles, ends in one newline, is formatted, and is its own
    stub. Raises SpecError where the source does not parse, where steps do not
    count 1, 2, 3, …, where a top-level statement is neither statement nor
    answer, and where something that stays needs a name that goes.
    """
    text = _plain_lines(solution_source.removeprefix("\ufeff"))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise SpecError(f"the solution does not parse (line {line}): {error}") from error
    stub = "\n".join(_Writer(text, level).module(tree)).rstrip() + "\n"
    _refuse_dangling_names(tree, ast.parse(stub))
    return stub


def is_untouched(stub_text: str, answer_bytes: bytes) -> bool:
    """Tell whether an answer is still the stub, as far as Python can see.

    A byte order mark, CRLF, trailing whitespace, blank lines and comments make
    no difference. An answer that does not decode or parse was touched.
    """
    if len(answer_bytes) > MOST_BYTES:
        return False
    try:
        answer = answer_bytes.decode("utf-8-sig")
        return _dump(answer) == _dump(stub_text.removeprefix("\ufeff"))
    except (UnicodeDecodeError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _dump(text: str) -> str:
    with warnings.catch_warnings():
        # An invalid escape in the answer is reported when it is graded, not here.
        warnings.simplefilter("ignore")
        return ast.dump(ast.parse(_plain_lines(text)))


def _plain_lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in re.split(r"\r\n|\r|\n", text)) + "\n"


class _Writer:
    """Writes the lines of a stub from the text of one solution."""

    def __init__(self, text: str, level: Level) -> None:
        self.lines = text.split("\n")
        self.level = level
        self.tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))

    def module(self, tree: ast.Module) -> list[str]:
        out: list[str] = []
        before: ast.stmt | None = None
        for node in tree.body:
            if not _stays(node, top_level=not out):
                continue
            out += [""] * self.gap(before, node, between_blocks=2)
            out += self.statement(node, "")
            before = node
        return out

    def statement(self, node: ast.stmt, indent: str) -> list[str]:
        if isinstance(node, ast.ClassDef):
            return self.class_(node, indent)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return self.function(node, indent)
        return self.lines[node.lineno - 1 : node.end_lineno]

    def class_(self, node: ast.ClassDef, indent: str) -> list[str]:
        out = self.header(node)
        before: ast.stmt | None = None
        for child in node.body:
            if not _stays(child, top_level=before is None):
                continue
            out += [""] * self.gap(before, child, between_blocks=1)
            out += self.statement(child, indent + INDENT)
            before = child
        return out if before else [*out, f"{indent}{INDENT}pass"]

    def function(self, node: Function, indent: str) -> list[str]:
        inner = indent + INDENT
        out = self.header(node)
        body = list(node.body)
        if ast.get_docstring(node, clean=False) is not None:
            out += (inner + self.segment(body.pop(0))).split("\n")
        if self.level == "guided":
            if node.name == "__init__" and body and _calls_super(body[0]):
                out.append(inner + self.segment(body[0]))
            out += [inner + line for line in self.steps(node)]
        return [*out, f"{inner}raise NotImplementedError"]

    def header(self, node: ast.ClassDef | Function) -> list[str]:
        """Return the lines from the first decorator to the colon before the body."""
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        depth = 0
        for token in self.tokens:
            if token.start < (node.lineno, node.col_offset) or token.type != tokenize.OP:
                continue
            depth += (token.string in "([{") - (token.string in ")]}")
            if token.string == ":" and depth == 0:
                last, column = token.end
                lines = self.lines[first - 1 : last]
                if not self.lines[last - 1][column:].lstrip().startswith("#"):
                    # `def f(x): return x` has its body on the same line.
                    lines[-1] = lines[-1][:column]
                return lines
        raise SpecError(f"line {node.lineno}: no body found")  # pragma: no cover

    def segment(self, node: ast.stmt) -> str:
        # ast.get_source_segment goes through the whole text each time. Columns count bytes.
        lines = [line.encode() for line in self.lines[node.lineno - 1 : node.end_lineno]]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"\n".join(lines).decode()

    def steps(self, node: Function) -> Iterator[str]:
        number = 0
        last_row = -1
        for token in self.tokens:
            row, column = token.start
            inside = node.lineno < row <= (node.end_lineno or row)
            if token.type != tokenize.COMMENT or not inside:
                continue
            if self.lines[row - 1][:column].strip():
                continue  # trails a line of code
            if step := STEP.fullmatch(token.string):
                number += 1
                if int(step[1]) != number:
                    raise SpecError(
                        f"line {row}: step {step[1]} of {node.name} should be step {number}"
                    )
                yield f"# TODO {number}: {step[2]}"
                last_row = row
            elif row == last_row + 1:
                yield token.string
                last_row = row

    def gap(self, before: ast.stmt | None, node: ast.stmt, *, between_blocks: int) -> int:
        """Count the blank lines that the formatter wants between two statements."""
        if before is None:
            return 0
        blocks = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(before, blocks) or isinstance(node, blocks):
            return between_blocks
        imports = (ast.Import, ast.ImportFrom)
        if is_docstring(before) or isinstance(before, imports) != isinstance(node, imports):
            return 1
        return int(not self.lines[node.lineno - 2].strip())


def _stays(node: ast.stmt, *, top_level: bool) -> bool:
    """Tell whether a statement of a module or class belongs to the statement of the kata."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if is_docstring(node):
        return top_level
    if isinstance(node, ast.Pass):
        return False
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    names = _names_bound(node)
    if names is None:
        raise SpecError(
            f"line {node.lineno}: only a docstring, imports, named constants, classes and "
            "functions may stand here"
        )
    return any(not name.startswith("_") or _is_dunder(name) for name in names)


def _names_bound(node: ast.stmt) -> list[str] | None:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        targets: Sequence[ast.expr] = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    else:
        return None
    return [
        each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)
    ]


def _refuse_dangling_names(solution: ast.Module, stub: ast.Module) -> None:
    """Raise SpecError where the stub would fail at import for a name that was dropped."""
    dropped = _private_names(solution) - _private_names(stub)
    for node in ast.walk(stub):
        if isinstance(node, ast.Name) and node.id in dropped:
            raise SpecError(
                f"the stub needs {node.id!r}, which it does not keep: rename it without the "
                "underscore, or keep it out of signatures, decorators and constants"
            )


def _private_names(tree: ast.Module) -> set[str]:
    names = {name for node in tree.body for name in _names_bound(node) or ()}
    return {name for name in names if name.startswith("_") and not _is_dunder(name)}


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def is_docstring(node: ast.stmt) -> bool:
    """Tell whether a statement is nothing but a text."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _calls_super(node: ast.stmt) -> bool:
    return bool(re.fullmatch(r"super\(.*\)\.__init__\(.*\)", ast.unparse(node), re.DOTALL))
