"""Puzzles, each with parse, solve, check and render. Pure. Floor 1."""
