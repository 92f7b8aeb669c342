"""What the RBAC programs share: preconditions, and the names that their workloads draw."""


def require(precondition):
    """Every function is defined only where its precondition holds."""
    if not precondition:
        raise ValueError("the precondition does not hold")


class Names:
    """What the workload draws from; everything drawn may or may not exist at the time."""

    def __init__(self, rng, size):
        self.rng, self.size, self.sessions = rng, size, 0

    def one(self, letter):
        return f"{letter}{self.rng.randrange(self.size)}"

    def new_session(self):
        self.sessions += 1
        return f"s{self.sessions}"
