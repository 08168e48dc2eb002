"""Metrics: what debates and verdicts amount to, each with its interval."""
