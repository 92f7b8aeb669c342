"""Worlds in which the costs of JQL benchmark 2 grow."""

from jql2 import (
    ATTENDS,
    COURSES,
    STUDENTS,
    attending,
    make_attends,
    make_course,
    make_student,
    replace_attends,
)

from incoq import Set


def popular_course(n):
    """One student attends one course n times; n other sets hold the attendance too."""
    student, course, other = make_student("s"), make_course("c"), make_course("d")
    attends = [make_attends(student, course) for _ in range(n)]
    elsewhere = [Set(attends[:1]) for _ in range(n)]
    yield
    attending(course)
    yield
    replace_attends(attends[-1], student, course)
    yield
    attends[0].course = other
    attends[0].course = course
    yield
    attends[0].student = None
    attends[0].student = student
    yield
    STUDENTS.remove(student)
    STUDENTS.add(student)
    yield
    COURSES.remove(course)
    COURSES.add(course)
    yield
    attending(course)
    yield
    attending(other)
    yield
    ATTENDS.remove(attends[0])
    ATTENDS.add(attends[0])
    yield
    elsewhere[0].add(student)


def many_courses(n):
    """n students, n courses that are asked for, and an attendance of each."""
    courses = [make_course(f"c{i}") for i in range(n)]
    attends = [make_attends(make_student(f"s{i}"), courses[i]) for i in range(n)]
    for course in courses:
        attending(course)
    yield
    attends[0].course = courses[1]
    attends[0].course = courses[0]
    yield
    ATTENDS.remove(attends[0])
    ATTENDS.add(attends[0])
    yield
    COURSES.remove(courses[0])
    COURSES.add(courses[0])
    yield
    attending(make_course("new"))
