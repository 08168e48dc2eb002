"""Reports: neutral tables, figures and debates that callers build, on static pages and in the terminal.

Nothing here knows what a ladder or a player configuration is.
"""

from __future__ import annotations

from debate.report.console import print_table
from debate.report.figure import Dot, Figure, dots, heatmap
from debate.report.page import DebatePage
from debate.report.site import Page, Report, Section, write_report
from debate.report.table import Column, Interval, IntervalLike, Table, format_cell
from debate.report.talk import Option, Part, Result, Said, TalkPage

__all__ = [
    "Column",
    "DebatePage",
    "Dot",
    "Figure",
    "Interval",
    "IntervalLike",
    "Option",
    "Page",
    "Part",
    "Report",
    "Result",
    "Said",
    "Section",
    "Table",
    "TalkPage",
    "dots",
    "format_cell",
    "heatmap",
    "print_table",
    "write_report",
]
