"""Generated code beside code written by hand for the same program.

`by_hand/` holds what a careful engineer would write for one query: dicts, every kind of update, nothing more
general than the program needs. `cases/` says for each program how its data and its operations are made.
"""
