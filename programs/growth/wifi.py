"""Worlds in which the costs of the WiFi program grow."""

from wifi import AccessPoint, Wifi

from incoq import Set


def many_points(n):
    """n receivers share one scan of n access points."""
    points = [AccessPoint(f"net{i}", 10) for i in range(n)]
    scan = Set(points)
    receivers = [Wifi(5) for _ in range(n)]
    for wifi in receivers:
        wifi.scan = scan
        wifi.strong()
    yield
    points[0].ssid = "renamed"
    yield
    points[0].strength = 1
    points[0].strength = 10
    yield
    receivers[0].lost(points[0])
    receivers[0].found(points[0])
    yield
    receivers[0].threshold = 11
    receivers[0].threshold = 5
    yield
    receivers[0].scan = Set(points)
    yield
    fresh = Wifi(5)
    fresh.scan = scan
    yield
    fresh.strong()
    yield
    fresh.strong()


def point_in_many_scans(n):
    """n receivers have scans of their own, all with the same access point."""
    point, receivers = AccessPoint("net", 10), [Wifi(5) for _ in range(n)]
    for wifi in receivers:
        wifi.found(point)
        wifi.strong()
    yield
    point.ssid = "renamed"
    yield
    point.strength = 1
    point.strength = 10
    yield
    receivers[0].lost(point)
    receivers[0].found(point)
