"""JQL 2 by hand: the answer of each demanded course, and the attendances of each student in one."""

ATTENDS = set()
STUDENTS = set()
COURSES = set()


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


ATTENDING = {}  # demanded course -> {(attendance, student)}
OF_STUDENT = {}  # student -> its attendances of demanded courses, in ATTENDS
STRUCTURES = (ATTENDING, OF_STUDENT)


def attending(course):
    pairs = ATTENDING.get(course)
    return set(demand(course, None) if pairs is None else pairs)


def count_attending(course, _):
    pairs = ATTENDING.get(course)
    return len(demand(course, None) if pairs is None else pairs)


def demand(course, _):
    if course in ATTENDING:
        return ATTENDING[course]
    pairs = ATTENDING[course] = set()
    for attends in ATTENDS:
        if attends.course is course:
            student = attends.student
            OF_STUDENT.setdefault(student, set()).add(attends)
            if student in STUDENTS:
                pairs.add((attends, student))
    return pairs


def release(course, _):
    if course in ATTENDING:
        del ATTENDING[course]
        for attends in ATTENDS:
            if attends.course is course:
                _forget(attends)


def _forget(attends):
    known = OF_STUDENT[attends.student]
    known.discard(attends)
    if not known:
        del OF_STUDENT[attends.student]


def _enter(attends, pairs):
    student = attends.student
    known = OF_STUDENT.get(student)
    if known is None:
        OF_STUDENT[student] = {attends}
    else:
        known.add(attends)
    if student in STUDENTS:
        pairs.add((attends, student))


def _leave(attends, pairs):
    _forget(attends)
    pairs.discard((attends, attends.student))


def add_attends(attends, _):
    if attends not in ATTENDS:
        ATTENDS.add(attends)
        pairs = ATTENDING.get(attends.course)
        if pairs is not None:
            _enter(attends, pairs)


def remove_attends(attends, _):
    if attends in ATTENDS:
        ATTENDS.discard(attends)
        pairs = ATTENDING.get(attends.course)
        if pairs is not None:
            _leave(attends, pairs)


def add_student(student, _):
    if student not in STUDENTS:
        STUDENTS.add(student)
        for attends in OF_STUDENT.get(student, ()):
            ATTENDING[attends.course].add((attends, student))


def remove_student(student, _):
    if student in STUDENTS:
        STUDENTS.discard(student)
        for attends in OF_STUDENT.get(student, ()):
            ATTENDING[attends.course].discard((attends, student))


def set_course(attends, course):
    if attends in ATTENDS:
        old, new = ATTENDING.get(attends.course), ATTENDING.get(course)
        if old is not None:
            _leave(attends, old)
        attends.course = course
        if new is not None:
            _enter(attends, new)
    else:
        attends.course = course


def set_student(attends, student):
    pairs = ATTENDING.get(attends.course)
    if pairs is not None and attends in ATTENDS:
        _leave(attends, pairs)
        attends.student = student
        _enter(attends, pairs)
    else:
        attends.student = student
