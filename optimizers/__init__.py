"""Debaters wrapped into better debaters: best-of-N, critique-and-refine, preference models."""
