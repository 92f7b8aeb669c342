"""Polars: frames, whose columns are replaced by an update, and a lazy query that is run again each time."""

from __future__ import annotations

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # one core for everybody

import polars as pl  # it reads the setting when it is imported

from incoq.evaluate.peers.world import GROUP, World


class Peer:
    def __init__(self, world: World) -> None:
        self.celebs = world.celebs
        self.users = pl.DataFrame(list(world.users()), schema=["id", "email", "loc"], orient="row")
        self.follows = pl.DataFrame(list(world.follow_pairs()), schema=["celeb", "user"], orient="row").sort(
            "celeb"
        )
        self.members = pl.DataFrame(list(world.member_pairs()), schema=["grp", "user"], orient="row")

    def ask(self, celeb: int) -> set[str]:
        answer = (
            self.follows.lazy()
            .filter(pl.col("celeb") == self.celebs[celeb])
            .join(self.members.lazy().filter(pl.col("grp") == GROUP), on="user", how="semi")
            .join(self.users.lazy().filter(pl.col("loc") == "NYC"), left_on="user", right_on="id")
            .select("email")
            .collect()
        )
        return set(answer["email"].to_list())

    def move(self, user: int, place: str) -> None:
        self.users[user, "loc"] = place  # rows are in the order of their numbers

    def follow(self, user: int, celeb: int) -> None:
        row = pl.DataFrame({"celeb": [self.celebs[celeb]], "user": [user]})
        self.follows = self.follows.vstack(row)

    def unfollow(self, user: int, celeb: int) -> None:
        gone = (pl.col("celeb") == self.celebs[celeb]) & (pl.col("user") == user)
        self.follows = self.follows.filter(~gone)

    def join(self, user: int) -> None:
        self.members = self.members.vstack(pl.DataFrame({"grp": [GROUP], "user": [user]}))

    def leave(self, user: int) -> None:
        self.members = self.members.filter(~((pl.col("grp") == GROUP) & (pl.col("user") == user)))
