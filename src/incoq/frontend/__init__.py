"""From source text to object queries and the facts about the program that the compiler needs.

Reads only; what it returns are forms of `incoq.ir` and positions in the user's text.
"""
