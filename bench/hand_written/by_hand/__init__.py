"""Incremental implementations written by hand, one module for each program."""
