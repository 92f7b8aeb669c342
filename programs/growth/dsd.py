"""Worlds in which the costs of the dynamic separation of duty grow."""

from dsd import DSDNC, DSDNR, SESSIONS, SR, violations


def _updates():
    """One addition to and removal from each relation."""
    for relation, element in (
        (SESSIONS, "new"),
        (SR, ("h0", "new")),
        (DSDNC, ("new", 2)),
        (DSDNR, ("n0", "new")),
    ):
        relation.add(element)
        yield
        relation.remove(element)
        yield
    SR.remove(("h0", "r0"))
    SR.add(("h0", "r0"))
    yield
    violations()


def many_holders(n):
    """n holders of the two roles of one constraint."""
    for i in range(n):
        SESSIONS.add(f"h{i}")
        SR.update({(f"h{i}", "r0"), (f"h{i}", "r1")})
    DSDNR.update({("n0", "r0"), ("n0", "r1")})
    DSDNC.add(("n0", 2))
    yield
    violations()
    yield
    yield from _updates()


def many_constraints(n):
    """One holder of a role that n constraints name."""
    SESSIONS.add("h0")
    SR.add(("h0", "r0"))
    for i in range(n):
        DSDNR.add((f"n{i}", "r0"))
        DSDNC.add((f"n{i}", 1))
    yield
    violations()
    yield
    yield from _updates()


def many_roles(n):
    """One holder of n roles, all named by one constraint with n cardinalities."""
    SESSIONS.add("h0")
    for i in range(n):
        SR.add(("h0", f"r{i}"))
        DSDNR.add(("n0", f"r{i}"))
        DSDNC.add(("n0", 1 + i))
    yield
    violations()
    yield
    yield from _updates()
