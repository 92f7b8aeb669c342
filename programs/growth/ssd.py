"""Worlds in which the costs of the static separation of duty grow."""

from ssd import SSDNC, SSDNR, UR, USERS, violations


def _updates():
    """One addition to and removal from each relation."""
    for relation, element in (
        (USERS, "new"),
        (UR, ("h0", "new")),
        (SSDNC, ("new", 2)),
        (SSDNR, ("n0", "new")),
    ):
        relation.add(element)
        yield
        relation.remove(element)
        yield
    UR.remove(("h0", "r0"))
    UR.add(("h0", "r0"))
    yield
    violations()


def many_holders(n):
    """n holders of the two roles of one constraint."""
    for i in range(n):
        USERS.add(f"h{i}")
        UR.update({(f"h{i}", "r0"), (f"h{i}", "r1")})
    SSDNR.update({("n0", "r0"), ("n0", "r1")})
    SSDNC.add(("n0", 2))
    yield
    violations()
    yield
    yield from _updates()


def many_constraints(n):
    """One holder of a role that n constraints name."""
    USERS.add("h0")
    UR.add(("h0", "r0"))
    for i in range(n):
        SSDNR.add((f"n{i}", "r0"))
        SSDNC.add((f"n{i}", 1))
    yield
    violations()
    yield
    yield from _updates()


def many_roles(n):
    """One holder of n roles, all named by one constraint with n cardinalities."""
    USERS.add("h0")
    for i in range(n):
        UR.add(("h0", f"r{i}"))
        SSDNR.add(("n0", f"r{i}"))
        SSDNC.add(("n0", 1 + i))
    yield
    violations()
    yield
    yield from _updates()
