"""The intermediate forms: frozen dataclasses with a printer and a checker each.

Passes go from one form to the next; nothing here knows how a form was made or what becomes of it.
"""
