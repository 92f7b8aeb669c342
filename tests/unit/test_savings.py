"""What may be left out for the ablation changes no answer."""

from __future__ import annotations

import pytest
from both_ways import run_compiled, run_plain, source

from incoq.compile import SAVINGS

PROGRAM = source(
    """
    class User:
        def __init__(self, name, loc):
            self.name, self.loc, self.followers = name, loc, Set()
    @query
    def fans(celeb, group):
        return {u.name for u in celeb.followers if u in group if u.loc == "NYC"}
    def move(user, place):
        user.loc = place
    def main(show):
        users = [User(f"u{i}", "NYC") for i in range(6)]
        groups = [Set(users[:3]), Set(users[2:])]
        for user in users:
            users[0].followers.add(user)
        for step, user in enumerate(users):
            move(user, "Oslo" if step % 2 else "NYC")
            groups[step % 2].discard(user)
            groups[1 - step % 2].add(user)
            for group in groups:
                show(sorted(fans(users[0], group)), len(fans(users[1], group)))
            if step == 3:
                users[0].followers = Set(users[3:])
                fans.release(users[0], groups[0])
    """
)


@pytest.mark.parametrize("strategy", ["tags", "join"])
@pytest.mark.parametrize("saving", [*SAVINGS, "all"])
def test_a_program_without_a_saving_answers_alike(saving: str, strategy: str) -> None:
    without = SAVINGS if saving == "all" else [saving]
    assert run_compiled(PROGRAM, "filtered", strategy=strategy, without=without) == run_plain(PROGRAM)


def test_what_is_no_saving_is_refused() -> None:
    with pytest.raises(ValueError, match="without"):
        run_compiled(PROGRAM, "filtered", without=["everything"])
