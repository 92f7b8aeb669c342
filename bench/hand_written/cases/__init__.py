"""What is measured: each case is a program, its data and its operations."""

from bench.hand_written.cases import auth, birthday, check_access, jql2, running, ssd
from bench.hand_written.cases.case import Case

CASES: dict[str, Case] = {
    case.name: case
    for case in (running.CASE, jql2.CASE, auth.CASE, check_access.CASE, ssd.CASE, birthday.CASE)
}

__all__ = ["CASES", "Case"]
