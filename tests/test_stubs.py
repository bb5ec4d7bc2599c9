"""Stubs: what of a solution the learner gets, and when a file is still untouched."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import SpecError
from grader.stubs import LEVELS, Level, generate, is_untouched

REPOSITORY = Path(__file__).resolve().parents[1]
SOLUTIONS = sorted((REPOSITORY / "solutions").glob("kata*.py"))

SOLUTION = '''\
"""kata99 · A sample.

Shapes:

    x   (B, L, D)
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

LONGEST = 5000  # tokens
_EPSILON = 1e-9


def _half(x: Tensor) -> Tensor:
    # Step 1: this helper is the solution's own business
    return x / 2


@torch.no_grad()
def table(
    length: int,  # tokens
    *,
    device: torch.device | None = None,
) -> Tensor:
    """Return a table.

    A second paragraph,
        with an indented line
    """
    # a remark that is no step
    # Step 1: count
    #     from zero,
    #     in floats
    counted = torch.arange(length)  # Step 9: trailing, no step
    if device is not None:
        # Step 2: move it
        counted = counted.to(device)

        # not part of step 2
    return _half(counted)


class Layer(nn.Module):
    """A layer."""

    size: int
    _secret = 1

    def __init__(self, size: int) -> None:
        super().__init__()
        # Step 1: remember the size
        self.size = size

    @property
    def doubled(self) -> int:
        return self.size * 2

    def _private(self) -> None:
        # Step 1: hidden
        return None

    async def forward(self, x: Tensor) -> Tensor:
        # Step 1: loop
        for _ in range(2):
            # Step 2: add
            x = x + math.pi
        return x
'''

GUIDED = '''\
"""kata99 · A sample.

Shapes:

    x   (B, L, D)
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

LONGEST = 5000  # tokens


@torch.no_grad()
def table(
    length: int,  # tokens
    *,
    device: torch.device | None = None,
) -> Tensor:
    """Return a table.

    A second paragraph,
        with an indented line
    """
    # TODO 1: count
    #     from zero,
    #     in floats
    # TODO 2: move it
    raise NotImplementedError


class Layer(nn.Module):
    """A layer."""

    size: int

    def __init__(self, size: int) -> None:
        super().__init__()
        # TODO 1: remember the size
        raise NotImplementedError

    @property
    def doubled(self) -> int:
        raise NotImplementedError

    async def forward(self, x: Tensor) -> Tensor:
        # TODO 1: loop
        # TODO 2: add
        raise NotImplementedError
'''


def without_comments_in_bodies(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("    #")]
    lines = [line for line in lines if not line.strip().startswith(("# TODO", "#     "))]
    return "\n".join(line for line in lines if "super()" not in line) + "\n"


class TestGenerate:
    def test_guided_keeps_statement_and_steps(self) -> None:
        assert generate(SOLUTION) == GUIDED

    def test_blank_keeps_the_statement_only(self) -> None:
        assert generate(SOLUTION, "blank") == without_comments_in_bodies(GUIDED)

    @pytest.mark.parametrize("level", LEVELS)
    def test_a_stub_is_its_own_stub(self, level: Level) -> None:
        once = generate(SOLUTION, level)
        assert generate(once, level) == once

    def test_blank_can_be_had_from_guided(self) -> None:
        assert generate(generate(SOLUTION), "blank") == generate(SOLUTION, "blank")

    def test_line_ends_and_byte_order_mark_make_no_difference(self) -> None:
        assert generate("\ufeff" + SOLUTION.replace("\n", "\r\n")) == GUIDED

    def test_a_body_on_the_line_of_its_header_is_dropped(self) -> None:
        source = "def f(x: dict[str, int]) -> int: return x['a']\n\n\nclass A: pass\n"
        assert generate(source) == (
            "def f(x: dict[str, int]) -> int:\n    raise NotImplementedError\n\n\n"
            "class A:\n    pass\n"
        )

    def test_a_class_whose_names_are_all_private_still_compiles(self) -> None:
        stub = generate("class A:\n    _x = 1\n")
        assert stub == "class A:\n    pass\n"

    def test_a_private_class_is_dropped_with_its_methods(self) -> None:
        assert generate("class _A:\n    def f(self): ...\n\n\nB = 1\n") == "B = 1\n"

    def test_a_comment_in_a_string_is_no_step(self) -> None:
        stub = generate('def f():\n    return """\n    # Step 1: not me\n    """\n')
        assert "TODO" not in stub

    def test_blank_lines_between_constants_stay(self) -> None:
        source = "import math\n\nA = 1\n\nB = 2\nC = 3\n"
        assert generate(source) == source

    def test_imports_for_type_checkers_stay(self) -> None:
        source = (
            "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from torch import Tensor\n"
        )
        assert generate(source) == source

    def test_arguments_of_super_stay(self) -> None:
        source = "class A(B):\n    def __init__(self):\n        super(A, self).__init__()\n"
        assert "super(A, self).__init__()" in generate(source)

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("def f(:\n", r"does not parse \(line 1\)"),
            ("x = 1\0\n", "does not parse"),
            ("def f():\n    # Step 2: too early\n    return 1\n", "step 2 of f should be step 1"),
            (
                "def f():\n    # Step 1: a\n    # Step 1: b\n    return 1\n",
                "line 3: step 1 of f should be step 2",
            ),
            ("for _ in range(3):\n    pass\n", "line 1: only a docstring"),
            ("if __name__ == '__main__':\n    pass\n", "line 1: only a docstring"),
            ("print()\n", "line 1: only a docstring"),
            ("_E = 1\n\n\ndef f(eps=_E): ...\n", "the stub needs '_E'"),
        ],
    )
    def test_what_cannot_become_a_stub_is_refused(self, source: str, message: str) -> None:
        with pytest.raises(SpecError, match=message):
            generate(source)

    @given(st.data())
    def test_any_nesting_of_steps_gives_a_flat_list(self, data: st.DataObject) -> None:
        depths = data.draw(st.lists(st.integers(0, 3), max_size=8))
        lines = ["def f(x):"]
        indent, number = 1, 0
        for depth in depths:
            # Open one block more, or fall back by any number of them.
            indent = min(depth + 1, indent + 1)
            if indent > 1:
                number += 1
                lines.append("    " * (indent - 1) + f"# Step {number}: open")
                lines.append("    " * (indent - 1) + "if x:")
            number += 1
            lines.append("    " * indent + f"# Step {number}: act")
            lines.append("    " * indent + "x = x + 1")
        lines.append("    return x\n")
        stub = generate("\n".join(lines))
        todos = [line for line in stub.splitlines() if "TODO" in line]
        assert [line.split(":")[0] for line in todos] == [
            f"    # TODO {n}" for n in range(1, number + 1)
        ]
        assert stub.endswith("\n    raise NotImplementedError\n")
        assert generate(stub) == stub


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
class TestRealSolutions:
    def test_the_stub_compiles_and_is_its_own_stub(self, path: Path, level: Level) -> None:
        stub = generate(path.read_text(encoding="utf-8"), level)
        compile(stub, path.name, "exec", dont_inherit=True)
        assert generate(stub, level) == stub
        assert stub.endswith("\n")
        assert not stub.endswith("\n\n")

    def test_every_body_raises(self, path: Path, level: Level) -> None:
        tree = ast.parse(generate(path.read_text(encoding="utf-8"), level))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        assert functions
        for function in functions:
            assert ast.unparse(function.body[-1]) == "raise NotImplementedError"
            assert len(function.body) <= 3

    def test_the_formatter_has_nothing_to_add(
        self, path: Path, level: Level, tmp_path: Path
    ) -> None:
        assert_formatted(generate(path.read_text(encoding="utf-8"), level), tmp_path)


def test_the_formatter_has_nothing_to_add_to_the_sample(tmp_path: Path) -> None:
    assert_formatted(SOLUTION, tmp_path)
    assert_formatted(GUIDED, tmp_path)


def assert_formatted(text: str, folder: Path) -> None:
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    file = folder / "sample.py"
    file.write_text(text, encoding="utf-8")
    command = [ruff, "format", "--isolated", "--no-cache", "--line-length=100", "--check", file]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class TestIsUntouched:
    @pytest.mark.parametrize(
        "answer",
        [
            GUIDED.encode(),
            GUIDED.encode("utf-8-sig"),
            GUIDED.replace("\n", "\r\n").encode(),
            GUIDED.replace("\n", "  \n").encode(),
            GUIDED.replace("# TODO 1: count", "# I start tomorrow").encode(),
            GUIDED.rstrip().encode(),
            (GUIDED + "\n\n# notes\n").encode(),
        ],
        ids=["same", "bom", "crlf", "trailing", "comment", "no-newline", "notes"],
    )
    def test_looks_aside(self, answer: bytes) -> None:
        assert is_untouched(GUIDED, answer)

    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            GUIDED.replace("raise NotImplementedError", "pass", 1).encode(),
            GUIDED.replace("A layer.", "My layer.").encode(),
            GUIDED.replace("size: int", "size: float").encode(),
            (GUIDED + "def (:\n").encode(),
            GUIDED.encode("utf-16"),
            b"\xff" + GUIDED.encode(),
            GUIDED.encode() + b"\0",
            b"(" * 5000,
            GUIDED.encode() + b"#" * 2_000_000,
        ],
        ids=[
            "empty",
            "a-body",
            "a-docstring",
            "a-type",
            "broken",
            "utf16",
            "invalid",
            "null",
            "deep",
            "huge",
        ],
    )
    def test_sees_a_change(self, answer: bytes) -> None:
        assert not is_untouched(GUIDED, answer)

    def test_an_invalid_escape_raises_no_warning(self) -> None:
        assert not is_untouched(GUIDED, GUIDED.encode() + rb"x = '\d'" + b"\n")
