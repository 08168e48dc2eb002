"""Tournaments: pairing, matches, ratings, and the commands that run them."""
