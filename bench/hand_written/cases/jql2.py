"""JQL 2: attendances of a course joined with their students; some courses are asked about."""

import random
from types import SimpleNamespace
from typing import Any

from bench.hand_written.cases.case import Case, Operation, Workload

DEMANDED = 10

EXTRA = """
def count_attending(course, _):
    return len(attending(course))


def add_attends(attends, _):
    ATTENDS.add(attends)


def remove_attends(attends, _):
    ATTENDS.discard(attends)


def add_student(student, _):
    STUDENTS.add(student)


def remove_student(student, _):
    STUDENTS.discard(student)


def set_course(attends, course):
    attends.course = course


def set_student(attends, student):
    attends.student = student


def demand(course, _):
    attending.demand(course)


def release(course, _):
    attending.release(course)
"""

REQUERY = """
def attending(course):
    return {(a, a.student) for a in ATTENDS if a.course is course if a.student in STUDENTS}
"""


def make(program: Any, size: int, rng: random.Random) -> SimpleNamespace:
    students = [program.Student(f"s{i}") for i in range(size // 4)]
    courses = [program.Course(f"c{i}") for i in range(max(DEMANDED * 2, size // 20))]
    attends = [program.Attends(rng.choice(students), rng.choice(courses)) for _ in range(size)]
    for student in students:
        program.add_student(student, None)
    for one in attends:
        program.add_attends(one, None)
    for course in courses[:DEMANDED]:
        program.attending(course)
    demanded = set(courses[:DEMANDED])
    return SimpleNamespace(
        students=students,
        courses=courses,
        attends=attends,
        tagged=[a for a in attends if a.course in demanded],
        untagged=[a for a in attends if a.course not in demanded],
        strangers=[program.Attends(rng.choice(students), rng.choice(courses)) for _ in range(200)],
    )


def workloads(program: Any, world: SimpleNamespace, rng: random.Random, count: int) -> list[Workload]:
    p = program
    asked, others = world.courses[:DEMANDED], world.courses[DEMANDED:]

    def out_and_in(pool: list[Any]) -> list[Operation]:
        chosen = [rng.choice(pool) for _ in range(count // 2)]
        return [(f, a, None) for a in chosen for f in (p.remove_attends, p.add_attends)]

    def assignments(pool: list[Any], function: Any, values: list[Any], field: str) -> list[Operation]:
        chosen = [rng.choice(pool) for _ in range(count // 2)]
        return [(function, a, v) for a in chosen for v in (rng.choice(values), getattr(a, field))]

    students = [rng.choice(world.students) for _ in range(count // 2)]
    found = [
        Workload("query", "query", [(p.count_attending, rng.choice(asked), None) for _ in range(count)]),
        Workload("ATTENDS, demanded course", "tagged", out_and_in(world.tagged)),
        Workload("ATTENDS, other course", "untagged", out_and_in(world.untagged)),
        Workload(
            "STUDENTS",
            "tagged",
            [(f, s, None) for s in students for f in (p.remove_student, p.add_student)],
        ),
        Workload("course, demanded", "tagged", assignments(world.tagged, p.set_course, asked, "course")),
        Workload(
            "course, not demanded", "untagged", assignments(world.untagged, p.set_course, others, "course")
        ),
        Workload(
            "course, not in ATTENDS", "untagged", assignments(world.strangers, p.set_course, others, "course")
        ),
        Workload(
            "student, demanded", "tagged", assignments(world.tagged, p.set_student, world.students, "student")
        ),
        Workload(
            "student, not in ATTENDS",
            "untagged",
            assignments(world.strangers, p.set_student, world.students, "student"),
        ),
    ]
    begin, end = getattr(p, "demand", p.count_attending), getattr(p, "release", None)
    new = others[:10]
    found.append(Workload("first demand of a course", "demand", [(begin, c, None) for c in new]))
    found.append(Workload("release of a course", "release", [(end, c, None) for c in new] if end else []))
    mixed: list[Operation] = []
    for _ in range(count):
        one, kind = rng.choice(world.attends), rng.randrange(20)
        if kind < 10:
            mixed.append((p.count_attending, rng.choice(asked), None))
        elif kind < 14:
            mixed.append((rng.choice((p.add_attends, p.remove_attends)), one, None))
        elif kind < 16:
            mixed.append((p.set_course, one, rng.choice(world.courses)))
        elif kind < 18:
            mixed.append((p.set_student, one, rng.choice(world.students)))
        else:
            mixed.append((rng.choice((p.add_student, p.remove_student)), rng.choice(world.students), None))
    found.append(Workload("mixed", "mixed", mixed))
    return found


def answers(program: Any, world: SimpleNamespace) -> Any:
    number = {a: i for i, a in enumerate((*world.attends, *world.strangers))}
    return [
        sorted((number[a], s.name) for a, s in program.attending(course))
        for course in world.courses[:DEMANDED]
    ]


CASE = Case("jql2", "programs/jql2.py", EXTRA, REQUERY, make, workloads, answers)
