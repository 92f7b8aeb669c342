"""Random programs, a second straightforward evaluator and the driver that compares them with compiled code.
Nothing else in the package imports this folder; it may read the public API only."""
