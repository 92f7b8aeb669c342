"""Text appended to a plain program that answers its query in another way.

JQL's "always caching", an emulation and labelled so: on an insertion all other collections are scanned for
matches; on a deletion the results it was part of are removed. And the best that can be done at the moment of
the query: the smaller of two sets is gone through.
"""

from __future__ import annotations

_CACHE = """

CACHE = {{}}  # course -> the results of the query


def {query}(course):
    if course not in CACHE:  # before the clock starts: filled through the fields, which takes no scan
        CACHE[course] = {{{direct} for a in ATTENDS if a.course == course}}
    return CACHE[course]


def make_attends(student, course):
    a = Attends(student, course)
    ATTENDS.add(a)
    for wanted, results in CACHE.items():
{scan}
    return a


def replace_attends(old, student, course):
    new = make_attends(student, course)
    ATTENDS.remove(old)
    for results in CACHE.values():
        for result in [r for r in results if {first} is old]:
            results.remove(result)
    return new
"""

_SCAN_1 = """
        if a.course == wanted:
            results.add(a)
"""
_SCAN_2 = """
        for s in STUDENTS:
            if a.course == wanted and a.student == s:
                results.add((a, s))
"""
_SCAN_3 = """
        matching = [s for s in STUDENTS if a.student == s]
        for c in COURSES:
            if a.course == wanted and a.course == c:
                results.update((a, s, c) for s in matching)
"""

_OPTIMAL_RUNNING = """

def nyc_fans(celeb, group):
    return {u.email for u in celeb.followers & group if u.loc == "NYC"}
"""

CACHES = {
    "jql1": _CACHE.format(query="attendances", direct="a", scan=_SCAN_1, first="r"),
    "jql2": _CACHE.format(query="attending", direct="(a, a.student)", scan=_SCAN_2, first="r[0]"),
    "jql3": _CACHE.format(query="attending", direct="(a, a.student, a.course)", scan=_SCAN_3, first="r[0]"),
}
OPTIMA = {"running": _OPTIMAL_RUNNING}
