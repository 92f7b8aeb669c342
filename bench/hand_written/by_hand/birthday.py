"""Birthday by hand: how many persons each day has, and how many days have more than one."""

DAYS = set()
BIRTHDAYS = set()

PERSONS = {}  # day -> how many persons have it, where any
SHARED = [0]
STRUCTURES = (PERSONS,)

OTHER = set()  # read by no query


def count_shared(_, __):
    return SHARED[0]


def add_day(day, _):
    if day not in DAYS:
        DAYS.add(day)
        SHARED[0] += PERSONS.get(day, 0) > 1


def remove_day(day, _):
    if day in DAYS:
        DAYS.discard(day)
        SHARED[0] -= PERSONS.get(day, 0) > 1


def born(person, day):
    if (person, day) not in BIRTHDAYS:
        BIRTHDAYS.add((person, day))
        count = PERSONS.get(day, 0) + 1
        PERSONS[day] = count
        if count == 2 and day in DAYS:
            SHARED[0] += 1


def forget(person, day):
    if (person, day) in BIRTHDAYS:
        BIRTHDAYS.discard((person, day))
        count = PERSONS[day] - 1
        if count:
            PERSONS[day] = count
        else:
            del PERSONS[day]
        if count == 1 and day in DAYS:
            SHARED[0] -= 1


def note(person, day):
    OTHER.add((person, day))


def unnote(person, day):
    OTHER.discard((person, day))
