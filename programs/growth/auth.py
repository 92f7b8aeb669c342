"""Worlds in which the costs of the authorization program grow."""

from auth import Group, Perm, User, grant, join, leave, permissions, register, revoke

from incoq import Set


def _updates(n, users, members, groups, perms):
    """One of every update; each is undone, so that the next one finds the world as it was."""
    members[0].id = -1
    members[0].id = 0
    yield
    members[0].groups = Set(groups)
    yield
    groups[0].active = False
    groups[0].active = True
    yield
    groups[0].perms = Set(perms)
    yield
    perms[0].name = "renamed"
    yield
    users.remove(members[-1])
    register(members[-1], users)
    yield
    leave(members[-1], groups[0])
    join(members[-1], groups[0])
    yield
    revoke(perms[0], groups[-1])
    grant(perms[0], groups[-1])
    yield
    permissions(users, n + 1)
    yield
    permissions(users, n + 1)
    yield
    permissions(Set(members), 0)


def many_permissions(n):
    """One user in one group with n permissions."""
    users, members, groups = Set(), [User(0), User(0)], [Group(True), Group(True)]
    perms = [Perm(f"may{i}") for i in range(n)]
    for member in members:
        register(member, users)
        for group in groups:
            join(member, group)
    for group in groups:
        for perm in perms:
            grant(perm, group)
    permissions(users, 0)
    yield
    yield from _updates(n, users, members, groups, perms)


def many_groups(n):
    """Two users in n groups, all of which have the same two permissions."""
    users, members, groups = Set(), [User(0), User(0)], [Group(True) for _ in range(n)]
    perms = [Perm("read"), Perm("write")]
    for member in members:
        register(member, users)
        for group in groups:
            join(member, group)
    for group in groups:
        for perm in perms:
            grant(perm, group)
    permissions(users, 0)
    yield
    yield from _updates(n, users, members, groups, perms)


def many_users(n):
    """n users in two groups; each of the users is asked for."""
    users, members, groups = Set(), [User(i) for i in range(n)], [Group(True), Group(True)]
    perms = [Perm("read"), Perm("write")]
    for group in groups:
        for perm in perms:
            grant(perm, group)
    for member in members:
        register(member, users)
        for group in groups:
            join(member, group)
        permissions(users, member.id)
    yield
    yield from _updates(n, users, members, groups, perms)


def many_with_one_id(n):
    """Many users share one id and one set of groups, and registers are asked for it."""
    k = round(n**0.5)
    registers, members, groups = (
        [Set() for _ in range(k)],
        [User(0) for _ in range(k)],
        [Group(True) for _ in range(k)],
    )
    perms, shared, allowed = [Perm(f"may{i}") for i in range(3)], Set(groups), Set()
    for perm in perms:
        allowed.add(perm)
    for group in groups:
        group.perms = allowed
    for member in members:
        member.groups = shared
    for users in registers:
        for member in members:
            register(member, users)
        permissions(users, 0)
    yield
    yield from _updates(n, registers[0], members, groups, perms)


def sets_as_truth(n):
    """Whether n groups are active depends on one set: it counts as true while it holds something."""
    users, member, active = Set(), User(0), Set()
    register(member, users)
    for i in range(n):
        group = Group(active)
        grant(Perm(f"may{i}"), group)
        join(member, group)
    permissions(users, 0)
    yield
    active.add("yes")
    active.remove("yes")
