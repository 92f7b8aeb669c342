"""Benchmarks of the compiled programs. Each is a module that `python -m bench.<name> --help` explains."""
