"""Dossiers: a seeded generator of small worlds told in prose, with questions that only the kind of evidence settles.

Every story holds a sentence that settles its question and a true sentence that speaks for the wrong answer.
``dossier.py`` is where to start; ``docs/dossiers.md`` says how to add a template.
"""
