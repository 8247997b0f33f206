"""Peg solitaire: jump peg over peg until one is left."""
