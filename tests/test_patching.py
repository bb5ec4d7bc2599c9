"""Planting bugs: whole lines of a solution give way to others."""

from __future__ import annotations

import builtins
import dis
import itertools
from collections.abc import Iterator
from types import CodeType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import catalog
from grader.catalog import Entry
from grader.errors import PatchError
from grader.model import Bug, Edit
from grader.patching import bug, each_and_all, patch, plant

SOURCE = """\
def f(x, mask):
    y = x + 1  # (B, L)
    if mask is not None:
        y = y.masked_fill(~mask, float("-inf"))
    z = y * 2
    return z
"""
FILL = 'y = y.masked_fill(~mask, float("-inf"))'


class TestPatch:
    def test_replaces_the_line_and_inherits_its_indentation(self) -> None:
        patched = patch(SOURCE, [Edit(FILL, "y = y * mask")])
        assert patched == SOURCE.replace(FILL, "y = y * mask")

    def test_looks_aside_from_indentation_and_trailing_comments(self) -> None:
        patched = patch(SOURCE, [Edit("   y = x + 1", "y = x - 1")])
        assert patched == SOURCE.replace("y = x + 1  # (B, L)", "y = x - 1")

    def test_several_lines_share_the_indentation(self) -> None:
        patched = patch(SOURCE, [Edit(FILL, "y = y * mask\n\ny = y + mask")])
        assert "        y = y * mask\n\n        y = y + mask\n" in patched

    def test_an_empty_replacement_drops_the_code(self) -> None:
        patched = patch(SOURCE, [Edit("z = y * 2", "")])
        assert "z = y * 2" not in patched
        compile(patched, "patched", "exec")

    @pytest.mark.parametrize(
        ("edits", "message"),
        [
            ([Edit("y = x + 2", "y = x")], "'y = x \\+ 2' is missing"),
            ([Edit("x + 1", "x")], "is missing"),
            ([Edit("z = y * 2", "z = 1"), Edit("z = y * 2", "z = 2")], "two edits claim"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, edits: list[Edit], message: str) -> None:
        with pytest.raises(PatchError, match=message):
            patch(SOURCE, edits)

    def test_a_line_that_occurs_twice_is_refused(self) -> None:
        with pytest.raises(PatchError, match="occurs 2 times"):
            patch("x = 1\nif x:\n    x = 1\n", [Edit("x = 1", "x = 2")])

    def test_two_edits_that_agree_are_one(self) -> None:
        edit = Edit("z = y * 2", "z = y")
        assert patch(SOURCE, [edit, edit]) == patch(SOURCE, [edit])

    def test_an_edit_never_finds_what_another_wrote(self) -> None:
        edits = [Edit("y = x + 1", "z = y * 2"), Edit("z = y * 2", "z = y")]
        for order in itertools.permutations(edits):
            patched = patch(SOURCE, order)
            assert "    z = y * 2\n    if mask" in patched
            assert "    z = y\n    return z" in patched

    @given(
        st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1, max_size=8),
        st.data(),
    )
    def test_order_never_matters(self, names: list[str], data: st.DataObject) -> None:
        source = "".join(f"{name} = 0\n" for name in names)
        edits = [Edit(f"{name} = 0", f"{name} = 1") for name in names]
        chosen = data.draw(st.lists(st.sampled_from(edits), unique=True))
        expected = patch(source, chosen)
        assert patch(source, data.draw(st.permutations(chosen))) == expected
        assert expected.count("= 1") == len(chosen)
        assert len(expected.splitlines()) == len(names)


class TestBug:
    def test_one_patch(self) -> None:
        made = bug("b", ("z = y * 2", "z = y"), says="s", ask="a")
        assert made == Bug("b", ((Edit("z = y * 2", "z = y"),),), "s", "a")

    def test_variants_follow_the_first_patch(self) -> None:
        made = bug("b", ("a", "b"), says="s", ask="a", variants=[[("a", "c")], [("d", "")]])
        assert made.variants == ((Edit("a", "b"),), (Edit("a", "c"),), (Edit("d", ""),))

    def test_equal_variants_are_one(self) -> None:
        made = bug("b", ("a", "b"), says="s", ask="a", variants=[[("a", "b")]])
        assert len(made.variants) == 1

    def test_a_finite_fill_comes_beside_every_patch(self) -> None:
        made = bug("b", ("z = y * 2", "z = y"), says="s", ask="a", fill_lines=[FILL])
        _, finite = made.variants
        assert finite == (
            Edit("z = y * 2", "z = y"),
            Edit(FILL, "y = y.masked_fill(~mask, -1e9)"),
        )

    def test_a_finite_fill_joins_a_patch_of_the_same_line(self) -> None:
        other = 'y = y.masked_fill(mask, float("-inf"))'
        made = bug("b", (FILL, other), says="s", ask="a", fill_lines=[FILL])
        assert made.variants == (
            (Edit(FILL, other),),
            (Edit(FILL, "y = y.masked_fill(mask, -1e9)"),),
        )

    def test_a_finite_fill_changes_every_fill_line(self) -> None:
        again = FILL.replace("y", "w")
        made = bug("b", (FILL, "y = y"), says="s", ask="a", fill_lines=[FILL, again])
        assert made.variants[1] == (
            Edit(FILL, "y = y"),
            Edit(again, again.replace('float("-inf")', "-1e9")),
        )

    def test_a_slip_in_each_place_or_in_all(self) -> None:
        one, two = ("a", "b"), ("c", "d")
        assert each_and_all(one, two) == [[one, two], [one], [two]]
        assert each_and_all(one) == [[one]]


class TestPlant:
    one = bug("one", ("y = x + 1", "y = x"), says="s", ask="a", variants=[[("y = x + 1", "y = 1")]])
    two = bug("two", ("z = y * 2", "z = y"), says="s", ask="a")
    rival = bug("rival", ("z = y * 2", "z = 0"), says="s", ask="a")
    lost = bug("lost", ("no such line", "z = 0"), says="s", ask="a")

    def test_no_bug_leaves_the_solution(self) -> None:
        assert list(plant(SOURCE, [])) == [SOURCE]

    def test_one_source_for_each_choice_of_variants(self) -> None:
        planted = list(plant(SOURCE, [self.one, self.two]))
        assert len(planted) == 2
        assert all("z = y\n" in source for source in planted)
        assert sorted(planted) == sorted(plant(SOURCE, [self.two, self.one]))

    def test_rivals_for_a_line_are_left_out(self) -> None:
        assert list(plant(SOURCE, [self.two, self.rival])) == []

    def test_a_single_patch_that_does_not_apply_is_an_error(self) -> None:
        with pytest.raises(PatchError, match="no such line"):
            list(plant(SOURCE, [self.lost]))


class TestKnownBugs:
    """A bug that trips over its own patch would be found in no answer."""

    @pytest.mark.parametrize("entry", catalog.katas(), ids=lambda entry: entry.slug)
    def test_every_name_they_use_is_there(self, entry: Entry) -> None:
        source = entry.solution_path.read_text(encoding="utf-8")
        for known in entry.load_spec().bugs:
            # These are about names that are not there.
            for edits in known.variants if known.id != "api-typos" else ():
                assert not unbound(patch(source, edits)), (known.id, edits)


def unbound(source: str) -> set[str]:
    """Return the global names that a file reads, and neither it nor Python defines."""
    every = [step for code in codes(compile(source, "patched", "exec")) for step in code]
    stored = {step.argval for step in every if step.opname.startswith("STORE_")}
    read = {step.argval for step in every if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return read - stored - {*dir(builtins), "__name__"}


def codes(code: CodeType) -> Iterator[Iterator[dis.Instruction]]:
    yield dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)
