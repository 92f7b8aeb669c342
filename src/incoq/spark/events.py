"""Changes as events: read, checked, put in order and reduced to what they leave behind.

    {"seq": 17, "rel": "field_loc", "op": "assign", "values": ["u1", "NYC"]}

After a batch only the last change of each tuple counts, so a batch is stored as one row for each: (relation,
owner, key, value, is it there). A field has no key; of a set the element is the key, of a dict the key. What
cannot be understood is rejected with its reason, and the rest goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any

from incoq.spark.deployment import Deployment
from incoq.spark.hosting import DEMAND, ITEM, MEMBER, Row
from incoq.spark.values import NotAValue, as_text, given_key, given_text, is_unicode

_ADD = {"add": True, "remove": False, "delete": False}
_ASSIGN = {"assign": True, "unassign": False}


@dataclass(frozen=True)
class Rejected:
    """An event that was not applied, and why."""

    reason: str
    line: str


@dataclass
class Batch:
    """What a batch of events leaves behind."""

    rows: list[Row] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    events: int = 0
    last: int | None = None  # the highest sequence number seen


class Fault(ValueError):  # noqa: N818  # of the event, not of ours
    """An event that cannot be understood."""


class Reader:
    """Checks events against the relations of a program."""

    def __init__(
        self, deployment: Deployment, of_table: Callable[[dict[str, Any]], list[Row]] | None = None
    ) -> None:
        self.of_table = of_table  # what a changed row of a mapped table is
        self.fields = {f"field_{f}" for f in (*deployment.fields, *deployment.other_fields)}
        self.globals = set(deployment.globals)
        self.arity = {DEMAND + q.name: len(q.demand) for q in deployment.queries}
        self.makers: dict[str, Callable[[Any, list[Any]], Row]] = {
            **{name: partial(_tuple, name) for name in self.globals},
            **{name: partial(_demand, name, width) for name, width in self.arity.items()},
            ITEM: _entry,
            **{name: partial(_field, name) for name in self.fields},
            MEMBER: _member,
        }

    def read(self, lines: Iterable[str], after: int | None) -> Batch:
        """The rows of a batch of JSON lines; sequence numbers up to `after` have been seen before."""
        batch = Batch(last=after)
        events: list[tuple[int, str, list[Row]]] = []
        rows_of = self._rows if self.of_table is not None else self._one_row
        for line in lines:
            text = line.strip()
            if not text:
                continue
            try:
                event, end = _scan(text, 0)
            except (StopIteration, ValueError, RecursionError):
                event, end = None, -1
            if end != len(text):
                batch.rejected.append(Rejected("not a line of JSON", line))
                continue
            if not is_unicode(text, event):
                batch.rejected.append(Rejected("a text is not Unicode", line))
                continue
            try:
                events.append((self._sequence(event), line, rows_of(event)))
            except Fault as fault:
                batch.rejected.append(Rejected(str(fault), line))
        events.sort(key=_FIRST)
        found: dict[tuple[str, str, str], Row] = {}
        last = after
        for sequence, line, rows in events:
            if last is not None and sequence <= last:
                batch.rejected.append(Rejected(f"sequence {sequence} was seen before (up to {last})", line))
                continue
            last = sequence
            batch.events += 1
            for row in rows:
                relation, owner = row[:2]
                found[row[:3]] = row
                if not row[4] and relation in (MEMBER, ITEM):  # it stays a set, if an empty one
                    found[relation, owner, ""] = (relation, owner, "", None, True)
        batch.rows, batch.last = list(found.values()), last
        return batch

    def _sequence(self, event: Any) -> int:
        if not isinstance(event, dict):
            raise Fault("an event is a JSON object")
        sequence = event.get("seq")
        if sequence.__class__ is not int:
            raise Fault("`seq` is a whole number" if "seq" in event else "`seq` is missing")
        return int(sequence)

    def _one_row(self, event: dict[str, Any]) -> list[Row]:
        return [self.row(event)]

    def _rows(self, event: dict[str, Any]) -> list[Row]:
        if self.of_table is None or "table" not in event:
            return [self.row(event)]
        try:
            return self.of_table(event)
        except NotAValue as fault:
            raise Fault(str(fault)) from None

    def row(self, event: dict[str, Any]) -> Row:
        """The row that an event stands for; `Fault` where it stands for none."""
        relation, values = event.get("rel"), event.get("values")
        if relation.__class__ is not str:
            raise Fault("`rel` is the name of a relation")
        if values.__class__ is not list:
            raise Fault("`values` is a list")
        assert isinstance(relation, str) and isinstance(values, list)
        make = self.makers.get(relation)
        if make is None:
            raise Fault(f"unknown relation {relation!r:.80}")
        try:
            return make(event.get("op"), values)
        except NotAValue as fault:
            raise Fault(str(fault)) from None


_scan: Callable[[str, int], tuple[Any, int]]
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # `json.loads` without white space
_FIRST = itemgetter(0)


def _member(op: Any, values: list[Any]) -> Row:
    present = _op(op, _ADD)
    _width(values, 2)
    return _element(_owner(values[0], "the set"), values[1], present)


def _field(relation: str, op: Any, values: list[Any]) -> Row:
    if op == "assign" and len(values) == 2 and values[0].__class__ is str:  # most of them
        return relation, values[0], "", given_text(values[1]), True
    present = _op(op, _ASSIGN)
    _width(values, 2 if present else 1)
    text = given_text(values[1]) if present else None
    return relation, _owner(values[0], "the object"), "", text, present


def _entry(op: Any, values: list[Any]) -> Row:
    present = _op(op, _ASSIGN)
    _width(values, 3 if present else 2)
    text = given_text(values[2]) if present else None
    return ITEM, _owner(values[0], "the map"), given_key(values[1]), text, present


def _demand(relation: str, width: int, op: Any, values: list[Any]) -> Row:
    present = _op(op, _ADD)
    _width(values, width)
    return demand_row(relation, values, present)


def demand_row(relation: str, values: list[Any], present: bool) -> Row:
    """A demanded combination; its value is how it is spelled, where equal ones are spelled otherwise."""
    if None in values:
        raise Fault("a parameter is null")
    key, text = given_key(values)[1:], as_text(values)[1:]
    return relation, key, "", text if present and text != key else None, present


def _tuple(relation: str, op: Any, values: list[Any]) -> Row:
    if not values:
        raise Fault("no values")
    return _element(relation, values if len(values) > 1 else values[0], _op(op, _ADD))


def _element(owner: str, value: Any, present: bool) -> Row:
    if value.__class__ is str:
        return MEMBER, owner, "s" + value, None, present
    key = given_key(value)
    text = as_text(value)
    return MEMBER, owner, key, text if text != key else None, present


def _op(op: Any, known: dict[str, bool]) -> bool:
    found = known.get(op) if op.__class__ is str else None
    if found is None:
        raise Fault(f"`op` is {' or '.join(known)} here, not {op!r:.40}")
    return found


def _width(values: list[Any], wanted: int) -> None:
    if len(values) != wanted:
        raise Fault(f"{wanted} values are needed, not {len(values)}")


def _owner(value: Any, what: str) -> str:
    if value.__class__ is not str:
        raise Fault(f"{what} is null" if value is None else f"{what} is an id, a string, not {value!r:.40}")
    assert isinstance(value, str)
    return value
