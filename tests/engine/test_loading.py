"""Source bytes become a namespace, or one clear reason why not."""

from __future__ import annotations

import sys

import pytest

from grader.engine.loading import decode, load
from grader.errors import NotLoadable


def test_defines_what_the_file_defines() -> None:
    namespace = load(b"x = 1\ndef f(): return x\n", "answer.py")
    assert namespace.names["f"]() == 1


@pytest.mark.parametrize(
    "source",
    [
        b"\xef\xbb\xbfx = '\xc3\xa4'\r\ny = 2\r\n",
        b"# -*- coding: latin-1 -*-\nx = '\xe4'\ny = 2\n",
        b"x = '\xc3\xa4'\ry = 2\r",
    ],
    ids=["bom and crlf", "latin-1 cookie", "old mac line ends"],
)
def test_encodings_and_line_ends_work(source: bytes) -> None:
    namespace = load(source, "answer.py")
    assert (namespace.names["x"], namespace.names["y"]) == ("ä", 2)


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        (b"x = (1,\n", 1, "SyntaxError"),
        (b"def f():\nreturn 1\n", 2, "IndentationError"),
        (b"if True:\n\tx = 1\n        y = 2\n", 3, "TabError"),
        (b"x = 1\ny = \0\n", 2, "null bytes"),
        (b"x = 1\ny = '\xff\xfe'\n", 2, "UTF-8"),
        (b"import torch\nimport no_such_package_here\n", 2, "no_such_package_here"),
        (b"x = 1\ny = 1 / 0\n", 2, "ZeroDivisionError"),
        (b"x = 1\nexit(3)\n", 2, "exit"),
        (b"raise KeyboardInterrupt\n", 1, "KeyboardInterrupt"),
    ],
)
def test_says_what_is_wrong_and_where(source: bytes, line: int, words: str) -> None:
    with pytest.raises(NotLoadable) as caught:
        load(source, "answer.py")
    assert caught.value.line == line
    assert words in caught.value.message


def test_a_syntax_error_shows_the_place() -> None:
    with pytest.raises(NotLoadable) as caught:
        load(b"x = 1\nif x = 2:\n    pass\n", "answer.py")
    assert "if x = 2:\n" in caught.value.message
    assert "^" in caught.value.message


def test_an_error_that_cannot_say_itself_still_gets_a_message() -> None:
    source = b"class E(Exception):\n    def __str__(self): raise ValueError\nraise E\n"
    with pytest.raises(NotLoadable) as caught:
        load(source, "answer.py")
    assert "E: " in caught.value.message


def test_the_main_guard_is_not_run_and_dataclasses_work() -> None:
    source = (
        b"from __future__ import annotations\nfrom dataclasses import dataclass\n"
        b"@dataclass\nclass C:\n    x: int = 1\n"
        b"if __name__ == '__main__':\n    raise SystemExit\n"
    )
    assert load(source, "answer.py").names["C"]().x == 1


def test_the_file_is_known_while_loading_and_hidden_from_hypothesis_afterwards() -> None:
    namespace = load(b"here = __file__\n", "katas/answer.py")
    assert namespace.names["here"] == "katas/answer.py"
    assert not hasattr(sys.modules["answer"], "__file__")


def test_null_bytes_are_found_before_decoding() -> None:
    with pytest.raises(NotLoadable):
        decode(b"\0")
