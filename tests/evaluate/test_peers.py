"""Every peer that is installed answers as the original program does, after every kind of change."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from incoq.evaluate.drivers.peers import ProgramPeer
from incoq.evaluate.peers import PEERS, THREADED, is_installed
from incoq.evaluate.peers.world import GROUP, World
from incoq.evaluate.versions import load

PROGRAMS = Path(__file__).parents[2] / "programs"
PLACES = ("NYC", "Oslo", "Lima")
USERS, CELEBS, STEPS = 60, 3, 120


def make_world(rng: random.Random) -> World:
    follows = [sorted(rng.sample(range(USERS), 3)) for _ in range(USERS)]
    for followees in follows:
        followees += [c for c in range(CELEBS) if rng.random() < 0.5 and c not in followees]
    joined = [[group for group in range(3) if rng.random() < 0.5] for _ in range(USERS)]
    return World([rng.choice(PLACES) for _ in range(USERS)], follows, joined, 3, tuple(range(CELEBS)))


def log_of(mode: str, seed: int) -> list[list[str]]:
    """What is answered after each of some random changes."""
    rng = random.Random(seed)
    world = make_world(rng)
    module = load(PROGRAMS, "running", mode).module
    peer: Any = module.Peer(world) if hasattr(module, "Peer") else ProgramPeer(module, world)
    fans = [{user for user in range(USERS) if c in world.follows[user]} for c in range(CELEBS)]
    members = {user for user in range(USERS) if GROUP in world.joined[user]}
    log = []
    for _ in range(STEPS):
        user, celeb = rng.randrange(USERS), rng.randrange(CELEBS)
        match rng.randrange(3):
            case 0:
                peer.move(user, rng.choice(PLACES))
            case 1:
                (peer.unfollow if user in fans[celeb] else peer.follow)(user, celeb)
                fans[celeb] ^= {user}
            case _:
                (peer.leave if user in members else peer.join)(user)
                members ^= {user}
        log.append(sorted(peer.ask(rng.randrange(CELEBS))))
    return log


@pytest.mark.parametrize(
    "mode", [*(mode for mode in PEERS if mode not in THREADED), "incremental", "filtered"]
)
def test_a_peer_answers_as_the_original_does(mode: str) -> None:
    if not is_installed(mode):
        pytest.skip(f"{mode} is not installed")
    expected = log_of("original", 1)
    assert any(expected)
    assert log_of(mode, 1) == expected


@pytest.mark.parametrize("mode", sorted(THREADED))
def test_a_peer_with_threads_answers_as_the_original_does(mode: str) -> None:
    if not is_installed(mode):
        pytest.skip(f"{mode} is not installed")
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from test_peers import log_of; "
        "ok = log_of(sys.argv[2], 1) == log_of('original', 1); os._exit(0 if ok else 1)"
    )
    arguments = [sys.executable, "-c", script, str(Path(__file__).parent), mode]
    assert subprocess.run(arguments, capture_output=True, timeout=120).returncode == 0
