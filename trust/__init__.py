"""The gates that a release must pass, each with a figure, a limit and what failed: `python3 dev.py trust`.

One module a gate, with one public function `run(budget_seconds, seed) -> Outcome`; `registry.GATES` lists
them. A gate may use whatever the checkout has (its tests, its documentation, the network), so this package
is not installed.
"""
