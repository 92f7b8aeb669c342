"""JQL benchmark 2: attendances of a course joined with their students.

Students attend courses; each attendance is an object of its own.
"""

import random
import sys

from incoq import Set, query

ATTENDS = Set()
STUDENTS = Set()
COURSES = Set()


class Student:
    def __init__(self, name):
        self.name = name


class Course:
    def __init__(self, name):
        self.name = name


class Attends:
    def __init__(self, student, course):
        self.student = student
        self.course = course


@query
def attending(course):
    """The attendances of a course, each with its student."""
    return {(a, s) for a in ATTENDS for s in STUDENTS if a.course == course if a.student == s}


def make_student(name):
    student = Student(name)
    STUDENTS.add(student)
    return student


def make_course(name):
    course = Course(name)
    COURSES.add(course)
    return course


def make_attends(student, course):
    attends = Attends(student, course)
    ATTENDS.add(attends)
    return attends


def replace_attends(old, student, course):
    """Another attendance in the place of `old`."""
    new = make_attends(student, course)
    ATTENDS.remove(old)
    return new


def described(course):
    return sorted(s.name for _, s in attending(course))


def main(seed=1, size=30, operations=200, percent_queries=50):
    rng = random.Random(seed)
    students = [make_student(f"s{i}") for i in range(size)]
    courses = [make_course(f"c{i}") for i in range(size)]
    attends = [make_attends(rng.choice(students), rng.choice(courses)) for _ in range(size)]
    for _ in range(operations):
        if rng.randrange(100) < percent_queries:
            course = rng.choice(courses[:3])
            print(course.name, *described(course))
        else:
            i = rng.randrange(size)
            attends[i] = replace_attends(attends[i], rng.choice(students), rng.choice(courses[:5]))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
