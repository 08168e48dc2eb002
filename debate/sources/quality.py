"""``quality:FILE``: QuALITY as released (v1.0.1, JSON Lines, one line a set of questions on an article)."""

from __future__ import annotations

import html.parser
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from debate.errors import SourceError
from debate.folds import fold_of
from debate.question import Question
from debate.sources.locate import find
from debate.sources.rows import Row, hint, json_rows, listed

OPTIONS = ("hard", "source")
_TAG = re.compile(
    r"</?(?:p|br|div|span|html|body|h[1-6]|i|b|em|strong|a|img|table|tr|td|hr|pre|blockquote)\b[^<>]*>", re.IGNORECASE
)
_BLOCKS = frozenset(
    {"p", "div", "br", "tr", "hr", "li", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "table"}
)
_SILENT = frozenset({"script", "style", "title"})


def load_questions(place: str, source: str, options: Mapping[str, str]) -> Iterator[Question]:
    """Load a file of the QuALITY release.

    Gold is ``gold_label``, the annotators' majority, not ``writer_label``; it is None in the test split, which has
    none. A question is hard if ``difficult`` is 1. The distractor is the wrong option that most annotators chose as
    ``untimed_best_distractor``, of equals the first; None where no annotator chose one.

    Args:
        place: A path, URL or hub file, with or without HTML in the articles.
        source: The source string, for the questions to carry.
        options: ``hard`` (``true`` or ``false``) and ``source`` (such as ``Gutenberg``): keep only these.

    Yields:
        Questions in the order of the file; story ids and folds are by article, which several lines may share.

    Raises:
        SourceError: An option or a line is malformed, or no line is of the source asked for.
    """
    hard = options.get("hard")
    if hard not in {None, "true", "false"}:
        raise SourceError(f"{source!r}: hard is {hard!r}; write hard=true or hard=false")
    wanted = options.get("source")
    present: set[str] = set()
    articles: dict[str, str] = {}
    kept = 0
    for row in json_rows(find(place)):
        if wanted is not None:
            present.add(row.text("source"))
            if row.text("source").casefold() != wanted.casefold():
                continue
        kept += 1
        article = row.text("article_id")
        story = strip_html(row.text("article"))
        story = articles.setdefault(story, story)  # lines on one article share one text in memory
        for question in row.rows("questions"):
            loaded = _question(question, story, article, source)
            if hard is None or loaded.hard is (hard == "true"):
                yield loaded
    if wanted is not None and not kept:
        raise SourceError(
            f"{source!r}: no article is from {wanted!r}{hint(wanted, present)} (sources: {listed(present)})"
        )


def _question(row: Row, story: str, article: str, source: str) -> Question:
    answers = tuple(answer.strip() for answer in row.texts("options"))
    if len(answers) < 2 or not all(answers):
        raise row.error("field 'options' needs two or more answers, none of them blank")
    gold = _label(row, "gold_label", len(answers))
    return Question(
        id=row.text("question_unique_id"),
        text=row.text("question").strip(),
        answers=answers,
        gold=gold,
        story=story,
        story_id=f"quality-{article}",
        source=source,
        fold=fold_of(article),
        distractor=None if gold is None else _distractor(row, gold, len(answers)),
        hard=_hard(row),
    )


def _label(row: Row, key: str, n_answers: int) -> int | None:
    """Turn a label that counts from 1 into an index; None where there is none."""
    if not row.has(key):
        return None
    label = row.integer(key)
    if not 1 <= label <= n_answers:
        raise row.error(f"field {key!r} is {label}; labels count from 1 to {n_answers}")
    return label - 1


def _distractor(row: Row, gold: int, n_answers: int) -> int | None:
    if not row.has("validation"):
        return None
    votes = Counter(_label(vote, "untimed_best_distractor", n_answers) for vote in row.rows("validation"))
    wrong = {index: count for index, count in votes.items() if index is not None and index != gold}
    return min(wrong, key=lambda index: (-wrong[index], index), default=None)


def _hard(row: Row) -> bool | None:
    if not row.has("difficult"):
        return None
    difficult = row.integer("difficult")
    if difficult not in {0, 1}:
        raise row.error(f"field 'difficult' is {difficult}; 0 or 1 is needed")
    return difficult == 1


def strip_html(article: str) -> str:
    """Return an article as plain text; one without tags, such as the released stripped variant, as it is.

    Args:
        article: HTML or plain text.

    Returns:
        The text with blank lines between paragraphs, entities resolved.
    """
    if not _TAG.search(article):
        return article.strip()
    parser = _Text()
    parser.feed(article)
    parser.close()
    paragraphs = (" ".join(part.split()) for part in "".join(parser.parts).split("\0"))
    return "\n\n".join(part for part in paragraphs if part)


class _Text(html.parser.HTMLParser):
    """Collects the text of a page, with a NUL where a paragraph begins or ends."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._silent += tag in _SILENT
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._silent = max(0, self._silent - (tag in _SILENT))
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data.replace("\0", ""))

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.parts.append("\0")
