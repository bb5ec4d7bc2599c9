"""Name the known bugs that an answer behaves like.

The answer's outcomes on the whole probe bank are compared with those of the
solution with one bug planted, then two, then three. Whole bank, not the shrunk
case: at L = 2 a mask that starts one step late and a mask never applied look
the same.

Sets of bugs are grown, not enumerated: a bug that alone does what the answer
does on some probes (those where the others do not show) is kept, and others are
added to it. Work is bounded by counting runs, never by a clock: the same answer
always gets the same diagnosis.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, islice

from grader.engine.bench import Bench, LocalAnswer, Reference, solution_namespace
from grader.engine.checking import OBSERVE
from grader.engine.comparing import akin_messages, same_behaviour, same_message
from grader.engine.execution import execute
from grader.engine.loading import Namespace
from grader.engine.mutants import Mutants, Store
from grader.engine.tracing import trace_of
from grader.errors import GraderError, NotLoadable, PatchError
from grader.model import Bug, Case, Edit, Kata, NamedBug, Outcome

MOST_BUGS = 3
# Every so many cases of the bank are looked at first where bugs are told apart.
STRIDE = 8
# Sets of bugs are judged on about this many probes where the answer is wrong first,
SAMPLE = 8
# on this many where it is right before they are tried at all,
INNOCENT, UNDONE = 8, 1
# and this many of the best are grown further.
WIDTH = 8
# A bug that is named although it does not explain everything: so many probes at least, and
# so large a share of those on which it shows.
MATCHED, SHARE = 3, 0.8
# How many runs of mutants each stage may ask for: single bugs, the search for
# probes that show one of them alone, sets of two, of three, and last all pairs,
# for bugs of which each shows on every probe. They hold for MANY bugs and variants
# of them; a kata with more gets more.
MANY = 200
SINGLE_CALLS, SCAN_CALLS = 2500, 1200
PAIR_CALLS, TRIPLE_CALLS, ALL_PAIRS_CALLS = 1500, 1200, 1500


@dataclass(frozen=True)
class Suspect:
    """A set of bugs, by their numbers in the kata, and for each the edits that plant it."""

    bugs: tuple[int, ...]
    parts: tuple[tuple[Edit, ...], ...]

    def with_(self, other: Suspect) -> Suspect:
        return Suspect((*self.bugs, *other.bugs), (*self.parts, *other.parts))


Scored = tuple[Suspect, frozenset[int]]


@dataclass(frozen=True)
class Evidence:
    """One probe: the case as both sides got it, what the answer and the solution did."""

    case: Case
    got: Outcome
    expected: Outcome
    key: Hashable

    @property
    def differs(self) -> bool:
        return not same_behaviour(self.case, self.got, self.expected)


def gather(bench: Bench, cases: Sequence[Case]) -> list[Evidence]:
    """Return what is known on each case, in the order given, without repeats."""
    unique = list({id(case): case for case in cases}.values())
    found: list[Evidence] = []
    for case in unique:
        expected = bench.expected(case)
        if not expected.inconclusive:
            prepared = replace(bench.prepared(case), assignment=0)
            key = (bench.key_of(case), prepared.absent)
            found.append(Evidence(prepared, bench.got(case), expected.outcome, key))
    return found


class Diagnosis:
    """The search for the smallest set of bugs that explains the evidence."""

    def __init__(self, kata: Kata, store: Store, evidence: Sequence[Evidence]) -> None:
        self.kata = kata
        self.evidence = list(evidence)
        self.mutants = Mutants(store, self.evidence)
        self.traces = [trace_of(e.case, e.got) for e in self.evidence]
        differing = [i for i, e in enumerate(self.evidence) if e.differs]
        # Values tell more than exceptions do, so probes that return come first.
        differing.sort(key=lambda i: self.evidence[i].got.status != "returned")
        self.differing = differing
        self.agreeing = [i for i in range(len(self.evidence)) if i not in set(differing)]
        self.singles = [
            Suspect((index,), (edits,))
            for index, bug in enumerate(kata.bugs)
            for edits in bug.variants
        ]
        self.known: frozenset[str] = frozenset()

    def single(self) -> list[Suspect]:
        """Return the bugs of which each alone explains everything."""
        return [suspect for suspect in self.singles if self.explains(suspect)]

    def run(self, known: Collection[str] = ()) -> tuple[NamedBug, ...]:
        """Return the bugs of the smallest exact explanation, else the best partial one.

        Of explanations that no probe tells apart, one with bugs already
        `known` from another target of the same file is preferred.
        """
        self.known = frozenset(known)
        if not self.differing:
            return ()
        exact = [suspect for suspect in self.single() if self.akin(suspect)]
        # Where nothing is returned on any probe, sets of bugs are not told apart.
        if not exact and self.evidence[self.differing[0]].got.status == "returned":
            exact = self.grown()
        return self.named(exact) if exact else self.partial()

    # --- one suspect ---------------------------------------------------------

    def within(self, calls: int) -> int:
        """Return how many runs there will have been once `calls` more were asked for.

        Where layers are missing a run takes several times as long.
        """
        slow = bool(self.differing and self.evidence[self.differing[0]].got.missing)
        calls = calls * max(MANY, len(self.singles)) // MANY
        return self.mutants.calls + (calls // 3 if slow else calls)

    def agrees(self, suspect: Suspect, index: int) -> bool:
        """Tell whether a suspect seems to do on a probe what the answer does."""
        trace = self.mutants.trace(suspect.parts, index)
        if trace is None or not trace.may_equal(self.traces[index]):
            return False
        # Shares of what was dropped are compared with some room, so they stand in no trace.
        return "drops" not in self.evidence[index].case.observe or self.same(suspect, index)

    def equals(self, suspect: Suspect, index: int) -> bool:
        """Tell whether a suspect does on a probe what the answer does."""
        return self.agrees(suspect, index) and self.same(suspect, index)

    def same(self, suspect: Suspect, index: int) -> bool:
        outcome = self.mutants.outcome(suspect.parts, index)
        evidence = self.evidence[index]
        return outcome is not None and same_behaviour(evidence.case, outcome, evidence.got)

    def visible(self, suspect: Suspect, index: int) -> bool:
        """Tell whether a suspect does on a probe something else than the solution."""
        if self.mutants.inert(suspect.parts, index):
            return False
        trace = self.mutants.trace(suspect.parts, index)
        return trace is not None and trace.shows

    def explains(self, suspect: Suspect) -> bool:
        """Tell whether a suspect does what the answer does, on every probe.

        A set of bugs that seems to is run as a whole: one edit may have led to
        a line that the solution never reached.
        """
        every = (*self.differing, *self.agreeing)
        if not all(self.agrees(suspect, index) for index in every):
            return False
        for index in every:
            outcome = self.mutants.certain(suspect.parts, index)
            evidence = self.evidence[index]
            if outcome is None or not same_behaviour(evidence.case, outcome, evidence.got):
                return False
        return True

    # --- sets of bugs --------------------------------------------------------

    def grown(self) -> list[Suspect]:
        """Return the smallest sets of two or three bugs that explain the evidence."""
        budget = self.within(SINGLE_CALLS)
        # Where only calls are watched, two mistakes that fit each other look right.
        watched = {"banned", "device"}
        plain = [i for i in self.agreeing if not watched & self.evidence[i].case.observe]
        innocent = _spread(plain, INNOCENT)
        likely = [
            s
            for s in self.singles
            if self.mutants.calls < budget
            and self.has_the_layers(s)
            # One that shows where the answer is right has no part in what is wrong with it;
            # now and then another bug undoes it there.
            and not _more_than(UNDONE, (self.visible(s, i) for i in innocent))
            and any(self.visible(s, i) for i in self.differing)
        ]
        # Of bugs that seem to do the same, the first is grown first.
        likely.sort(key=lambda suspect: self.kata.bugs[suspect.bugs[0]].id not in self.known)
        sample = self.telling(likely, self.sample())
        front, sample = self.best([(s, self.hits(s, sample)) for s in likely], sample)
        for calls in (PAIR_CALLS, TRIPLE_CALLS):
            budget = self.within(calls if front else ALL_PAIRS_CALLS)
            found: list[Scored] = []
            # Where no bug is seen alone on any probe, there is nothing to grow from.
            parents = front or ([(None, frozenset[int]())] if calls == PAIR_CALLS else [])
            for parent, known in parents:
                children = (
                    self.pairs_that_hit(likely, sample, budget)
                    if parent is None
                    else self.children(parent, known, likely, sample, budget)
                )
                found += children
                exact = [s for s, hits in children if len(hits) == len(sample) and self.explains(s)]
                if exact:
                    return exact
            front, sample = self.best(found, sample)
        budget = self.within(ALL_PAIRS_CALLS)
        pairs = self.pairs(likely, budget, sample)
        return [suspect for suspect in pairs if self.explains(suspect)]

    def has_the_layers(self, suspect: Suspect) -> bool:
        """Tell whether a suspect has every layer of the answer; no other bug brings one back."""
        index = self.differing[0]
        trace = self.mutants.trace(suspect.parts, index)
        if trace is None or trace.whole:
            return trace is not None
        outcome = self.mutants.outcome(suspect.parts, index)
        return outcome is not None and set(outcome.missing) <= set(self.evidence[index].got.missing)

    def sample(self) -> list[int]:
        """Return differing probes: one of each kind, then more spread over the bank."""
        kinds: dict[object, int] = {}
        for index in self.differing:
            got, case = self.evidence[index].got, self.evidence[index].case
            kind = (got.status, bool(got.changed), case.observe, case.train, case.target)
            kinds.setdefault(kind, index)
        chosen = list(kinds.values())
        rest = [i for i in self.differing if i not in set(chosen)]
        return [*chosen, *_spread(rest, SAMPLE - len(chosen))][:SAMPLE]

    def telling(self, likely: Sequence[Suspect], sample: list[int]) -> list[int]:
        """Return the sample with a few probes more: those on which one bug is seen alone."""
        budget = self.within(SCAN_CALLS)
        most = len(sample) + SAMPLE // 2
        # On the smallest probes (one token, one head, one key) the fewest bugs show.
        kinds: dict[object, int] = {}
        for index in sorted(self.differing, key=lambda i: _size(self.evidence[i].case)):
            kinds.setdefault(_ones(self.evidence[index].case), index)
        for index in kinds.values():
            if self.mutants.calls > budget or len(sample) >= most:
                break
            if index not in sample and any(self.agrees(suspect, index) for suspect in likely):
                sample = [*sample, index]
        return sample

    def hits(self, suspect: Suspect, sample: Sequence[int]) -> frozenset[int]:
        return frozenset(i for i in sample if self.agrees(suspect, i))

    def best(self, found: Sequence[Scored], sample: list[int]) -> tuple[list[Scored], list[int]]:
        """Return the sets that explain most of the sample, and the sample for the next round.

        A set that explains the whole sample and is still wrong adds probes
        that say so. Sets of the same bugs that explain the same probes count once.
        """
        for suspect, hits in found:
            if len(hits) == len(sample):
                every = (*self.differing, *self.agreeing)
                missed = [i for i in every if i not in hits and not self.agrees(suspect, i)]
                sample = [*sample, *missed[:2]]
                break
        kept: dict[object, Scored] = {}
        for suspect, hits in sorted((f for f in found if f[1]), key=lambda f: -len(f[1])):
            kept.setdefault((hits, suspect), (suspect, hits))
        front = list(kept.values())[:WIDTH]
        return [(suspect, self.hits(suspect, sample)) for suspect, _ in front], sample

    def children(
        self,
        parent: Suspect,
        known: frozenset[int],
        likely: Sequence[Suspect],
        sample: Sequence[int],
        budget: int,
    ) -> list[Scored]:
        """Return the sets of `parent` and one more bug that explain more than it did."""
        found: list[Scored] = []
        left = [index for index in sample if index not in known]
        for single in likely:
            if self.mutants.calls > budget:
                break
            # A bug that shows on none of the probes left to explain cannot help.
            if single.bugs[0] in parent.bugs or not any(self.visible(single, i) for i in left):
                continue
            grown = parent.with_(single)
            if all(self.agrees(grown, i) for i in known):
                new = self.hits(grown, left)
                if new:
                    found.append((grown, known | new))
        return found

    def pairs_that_hit(
        self, likely: Sequence[Suspect], sample: Sequence[int], budget: int
    ) -> list[Scored]:
        pairs = self.pairs(likely, budget, sample)
        scored = [(pair, self.hits(pair, sample)) for pair in pairs]
        return [(pair, hits) for pair, hits in scored if hits]

    def pairs(
        self, likely: Sequence[Suspect], budget: int, sample: Sequence[int]
    ) -> Iterator[Suspect]:
        """Yield the sets of two of which, on each probe of the sample, at least one shows."""
        shows = [frozenset(i for i in sample if self.visible(s, i)) for s in likely]
        for (first, left), (second, right) in combinations(zip(likely, shows, strict=True), 2):
            if self.mutants.calls > budget:
                return
            if first.bugs != second.bugs and len(left | right) == len(sample):
                yield first.with_(second)

    # --- what is said --------------------------------------------------------

    def named(self, exact: Sequence[Suspect]) -> tuple[NamedBug, ...]:
        """Report the first explanation, and beside each of its bugs the equal ones."""

        # What is proven goes before what only raises the same class of exception.
        def rank(suspect: Suspect) -> tuple[bool, int, list[int]]:
            new = sum(self.kata.bugs[bug].id not in self.known for bug in suspect.bugs)
            return not self.proven(suspect), new, sorted(suspect.bugs)

        exact = sorted(exact, key=rank)
        first = exact[0]
        if self.proven(first):
            exact = [suspect for suspect in exact if self.proven(suspect)]
        equal: dict[int, list[str]] = {bug: [] for bug in first.bugs}
        for other in exact[1:]:
            spare = set(other.bugs) - set(first.bugs)
            left = set(first.bugs) - set(other.bugs)
            if len(spare) == len(left) == 1:
                name = self.kata.bugs[spare.pop()].id
                names = equal[left.pop()]
                if name not in names:
                    names.append(name)
        if len(first.bugs) > 1:
            self.add_declared_equals(first, equal)
        sure = self.proven(first)
        count = len(self.evidence)
        return tuple(
            _named(self.kata.bugs[bug], sure, equal[bug], count, count)
            for bug in sorted(first.bugs)
        )

    def add_declared_equals(self, first: Suspect, equal: Mapping[int, list[str]]) -> None:
        """Try the bugs declared equal in the place of those found; the search may have stopped."""
        number = {bug.id: index for index, bug in enumerate(self.kata.bugs)}
        for place, bug in enumerate(first.bugs):
            own = self.kata.bugs[bug].id
            for name in [n for group in self.kata.equal if own in group for n in group]:
                if name == own or name in equal[bug]:
                    continue
                for edits in self.kata.bugs[number[name]].variants:
                    parts = (*first.parts[:place], edits, *first.parts[place + 1 :])
                    if self.explains(Suspect((number[name],), parts)):
                        equal[bug].append(name)
                        break

    def proven(self, suspect: Suspect) -> bool:
        """Tell whether a full match is more than the same class of exception everywhere.

        Two different slips may both end in a RuntimeError on every call. Equal
        values prove a bug, and so do equal messages, with the sizes in them.
        """
        return all(same_message(*pair) for pair in self.errors(suspect))

    def akin(self, suspect: Suspect) -> bool:
        """Tell whether a suspect that raises what the answer raises complains of the same, too.

        That every call ends in a TypeError is all that many slips have in common.
        """
        pairs = self.errors(suspect)
        return not pairs or any(akin_messages(*pair) for pair in pairs)

    def errors(self, suspect: Suspect) -> list[tuple[Outcome, Outcome]]:
        """Return what answer and suspect raise on the differing probes; [] if any returns."""
        pairs: list[tuple[Outcome, Outcome]] = []
        for index in self.differing:
            got, outcome = self.evidence[index].got, self.mutants.certain(suspect.parts, index)
            if outcome is None or got.raised is None or outcome.raised is None:
                return []
            pairs.append((got, outcome))
        return pairs

    def partial(self) -> tuple[NamedBug, ...]:
        """Return the one bug that matches the answer most often where it is visible."""
        best: tuple[float, Suspect, int, int] | None = None
        budget = self.within(SINGLE_CALLS)
        for suspect in self.singles:
            if self.mutants.calls > budget:
                break
            if not any(self.alike(suspect, index) for index in self.differing[:4]):
                continue
            shown = [i for i in range(len(self.evidence)) if self.visible(suspect, i)]
            matched = sum(self.alike(suspect, index) for index in shown)
            wrong = [i for i in self.differing if i in set(shown)]
            share = matched / len(shown) if shown else 0.0
            if wrong and matched >= MATCHED and share > SHARE and (best is None or share > best[0]):
                best = (share, suspect, matched, len(shown))
        if best is None:
            return ()
        _, suspect, matched, count = best
        return (_named(self.kata.bugs[suspect.bugs[0]], False, [], matched, count),)

    def alike(self, suspect: Suspect, index: int) -> bool:
        """Tell whether a suspect agrees on a probe, and where both raise, says the same."""
        if not self.equals(suspect, index):
            return False
        outcome = self.mutants.outcome(suspect.parts, index)
        return outcome is not None and same_message(self.evidence[index].got, outcome)


def _more_than(count: int, signs: Iterable[bool]) -> bool:
    """Tell whether more than `count` of the signs are true; stop to look once that is known."""
    return next(islice(filter(None, signs), count, None), False)


def _named(bug: Bug, sure: bool, equal: Sequence[str], matched: int, probes: int) -> NamedBug:
    return NamedBug(
        bug.id,
        bug.says,
        bug.ask,
        "exact" if sure else "consistent",
        tuple(equal),
        matched,
        probes,
    )


def bank(bench: Bench, kata: Kata, target: str = "") -> list[Case]:
    """Return the probes of a kata, or of one of its targets: the banks of its required checks."""
    cases: list[Case] = []
    for check in kata.checks:
        if target and check.target != target:
            continue
        if not check.required or check.watch == "loops":
            continue
        for recipe in check.bank:
            observe = OBSERVE.get(check.watch, frozenset())
            cases.append(bench.case(recipe, observe))
            if check.vary:
                cases.append(bench.case(recipe, frozenset(), check.vary))
    return cases


def indistinguishable(kata: Kata, source: str) -> tuple[tuple[str, ...], ...]:
    """Return the groups of bug ids that behave the same on every probe of the bank.

    The solution itself takes part as "": a bug in its group is invisible.
    Bugs are equal where any variant of one is equal to any variant of another.
    """
    bench = Bench(kata, LocalAnswer(source.encode(), "<solution>"), Reference(kata, source))
    cases = list({id(case): case for case in bank(bench, kata)}.values())
    # Cases of one check stand together, and some bugs show in those of one check only.
    cases = [case for first in range(STRIDE) for case in cases[first::STRIDE]]
    names: list[tuple[str, Namespace | None]] = [("", None)]
    for bug, edits in _variants(kata):
        try:
            names.append((bug.id, solution_namespace(source, edits)))
        except (PatchError, NotLoadable) as error:
            raise GraderError(f"{kata.stem}: bug {bug.id}: {error}") from error

    @cache
    def outcome(number: int, index: int) -> Outcome:
        """Return what one does on a case; most are told apart by the first cases."""
        _, namespace = names[number]
        case = cases[index]
        return bench.expected(case).outcome if namespace is None else execute(case, namespace)

    groups: list[set[str]] = []
    for left, right in combinations(range(len(names)), 2):
        if names[left][0] == names[right][0]:
            continue
        pairs = ((case, outcome(left, i), outcome(right, i)) for i, case in enumerate(cases))
        if all(same_behaviour(case, a, b) and same_message(a, b) for case, a, b in pairs):
            both = {names[left][0], names[right][0]}
            touching = [g for g in groups if g & both]
            groups = [g for g in groups if g not in touching]
            groups.append(both.union(*touching))
    return tuple(tuple(sorted(group)) for group in groups)


def _variants(kata: Kata) -> Iterator[tuple[Bug, tuple[Edit, ...]]]:
    for bug in kata.bugs:
        for edits in bug.variants:
            yield bug, edits


def _spread(items: Sequence[int], count: int) -> list[int]:
    """Return `count` of the items, from beginning to end; all where there are fewer."""
    if len(items) <= count:
        return list(items)
    return [items[k * len(items) // count] for k in range(max(0, count))]


def _size(case: Case) -> int:
    tensors = [v for v in case.inputs.values() if hasattr(v, "numel")]
    return sum(v.numel() for v in tensors)


def _ones(case: Case) -> tuple[object, ...]:
    """Tell which sizes of a case are 1, and which inputs it leaves out."""
    inputs = [
        tuple(size == 1 for size in value.shape) if hasattr(value, "shape") else value is None
        for value in case.inputs.values()
    ]
    return (*inputs, *(value == 1 for value in (case.init or {}).values()))
