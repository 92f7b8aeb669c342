"""`python -m incoq` is the command `incoq`."""

from incoq.cli import main

main()
