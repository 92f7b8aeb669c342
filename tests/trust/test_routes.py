"""Every route of mutation is maintained or refused; the page says which."""

from __future__ import annotations

import pytest

from trust.route_list import Route
from trust.routes import BEGIN, END, MAINTAINED, PAGE, every, verdict


def listed() -> dict[str, list[str]]:
    """The rows of the page."""
    page = PAGE.read_text(encoding="utf-8")
    tables = page[page.index(BEGIN) : page.index(END)]
    rows = [line.strip("| ").split(" | ") for line in tables.splitlines() if line.startswith("| ")]
    return {name: told for name, *told in rows if name != "route"}


def test_the_page_lists_every_route_once() -> None:
    names = [route.name for route in every()]
    assert len(names) == len(set(names)) >= 140
    assert list(listed()) == names


def test_no_route_of_the_page_is_silent() -> None:
    for told in listed().values():
        assert len(told) == 2
        assert all(t == MAINTAINED or t.startswith("IQ") for t in told)


@pytest.mark.parametrize("route", every(), ids=lambda route: route.name)
def test_a_route_is_maintained_or_refused_as_the_page_says(route: Route) -> None:
    assert verdict(route, "filtered") == listed()[route.name][0]


@pytest.mark.parametrize("route", every()[::5], ids=lambda route: route.name)
def test_a_route_is_maintained_or_refused_in_incremental_mode(route: Route) -> None:
    assert verdict(route, "incremental") == listed()[route.name][1]
