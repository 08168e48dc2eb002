"""Agents: debaters and judges. Each sees views only, never gold labels."""
