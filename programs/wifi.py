"""WiFi: the names of the access points that a device receives well enough."""

import random
import sys

from incoq import Set, query


class AccessPoint:
    def __init__(self, ssid, strength):
        self.ssid = ssid
        self.strength = strength


class Wifi:
    def __init__(self, threshold):
        self.scan = Set()
        self.threshold = threshold

    @query
    def strong(self):
        """The names of the access points above the threshold."""
        return {ap.ssid for ap in self.scan if ap.strength > self.threshold}

    def found(self, ap):
        self.scan.add(ap)

    def lost(self, ap):
        self.scan.remove(ap)


def step(rng, wifi, points):
    """One random change: a point appears, disappears or is renamed, or a strength or the threshold moves."""
    kind = rng.randrange(5)
    if kind <= 1 or not points:
        points.append(AccessPoint(f"net{len(points)}", rng.randrange(10)))
        wifi.found(points[-1])
    elif kind == 2:
        wifi.lost(points.pop(rng.randrange(len(points))))
    elif kind == 3:
        rng.choice(points).strength = rng.randrange(10)
    else:
        wifi.threshold = rng.randrange(10)


def main(seed=1, size=200):
    rng = random.Random(seed)
    wifi, points = Wifi(5), []
    for _ in range(size):
        step(rng, wifi, points)
        print(wifi.threshold, *sorted(wifi.strong()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
