"""What JQL's "always caching" does, as text appended to the plain program: an emulation, and labelled so.

On an insertion all other collections are scanned for matches; on a deletion the results it was part of are
removed.
"""

from __future__ import annotations

_CACHE_2 = """

CACHE = {}  # course -> the results of the query


def attending(course):
    if course not in CACHE:
        CACHE[course] = {(a, s) for a in ATTENDS for s in STUDENTS if a.course == course if a.student == s}
    return CACHE[course]


def make_attends(student, course):
    attends = Attends(student, course)
    ATTENDS.add(attends)
    for wanted, results in CACHE.items():
        for s in STUDENTS:
            if attends.course == wanted and attends.student == s:
                results.add((attends, s))
    return attends


def replace_attends(old, student, course):
    new = make_attends(student, course)
    ATTENDS.remove(old)
    for results in CACHE.values():
        for result in [r for r in results if r[0] is old]:
            results.remove(result)
    return new
"""

CACHES = {"jql2": _CACHE_2}
