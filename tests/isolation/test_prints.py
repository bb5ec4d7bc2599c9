"""What an answer prints is its own job's, whatever became of the jobs before."""

from __future__ import annotations

import os

from grader.isolation.prints import Prints, end_of_prints

FIRST, SECOND = "0123456789abcdef", "fedcba9876543210"


def test_prints_of_a_dropped_job_are_not_the_next_ones() -> None:
    reading, writing = os.pipe()
    prints = Prints(os.fdopen(reading, "rb", buffering=0))
    prints.expect(end_of_prints(SECOND))
    os.write(writing, b"of the first job\n" + end_of_prints(FIRST))
    os.write(writing, b"of the second job\n" + end_of_prints(SECOND))
    prints.settle(5.0)
    assert prints.note() == "the answer printed 1 line: of the second job"
    prints.expect(end_of_prints(FIRST))
    os.write(writing, end_of_prints(SECOND) + end_of_prints(FIRST))
    prints.settle(5.0)
    assert prints.note() == ""
    os.close(writing)
