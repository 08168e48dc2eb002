"""``shipped:claims`` and ``claims:FILE``: claims with a reason each, for persuasion.

A file is CSV or JSON Lines with columns ``topic``, ``claim`` and ``reason``, and, if it likes, ``id``; further columns
are left alone. The published claims of LOGICOM call the topic ``title``, which is taken too.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence

import yaml

from debate.claim import Claim
from debate.errors import SourceError
from debate.sources.locate import data_folder, find
from debate.sources.rows import Row, csv_rows, hint, is_csv, json_rows, read_text

SHIPPED = "claims"


def load_claims(source: str) -> list[Claim]:
    """Load the claims of a source.

    Args:
        source: ``shipped:claims``, or ``claims:FILE``, where FILE is a path, an http(s) URL or
            ``hub:OWNER/DATASET/FILE``, packed with gzip or not.

    Returns:
        One or more claims with unique ids, in the order of the source. An absent id is made from topic, claim and
        reason.

    Raises:
        SourceError: The source is unknown, empty, unreachable or malformed.
    """
    kind, colon, rest = source.partition(":")
    if kind not in {"shipped", "claims"} or not colon or not rest:
        raise SourceError(
            f"{source!r} is no source of claims{hint(kind, ('shipped', 'claims'))} (known: shipped:claims, claims:FILE)"
        )
    claims = list(_shipped(rest, source) if kind == "shipped" else _of_file(rest, source))
    if not claims:
        raise SourceError(f"{source!r} holds no claims; check the file")
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise SourceError(
                f"{source!r}: two claims have the id {claim.id!r}; give each its own, or leave the ids out"
            )
        seen.add(claim.id)
    return claims


def pick(claims: Sequence[Claim], ids: Sequence[str]) -> list[Claim]:
    """Leave the claims with some ids, in the order that the claims have; all where no id is given.

    Raises:
        SourceError: There is no claim of an id.
    """
    if not ids:
        return list(claims)
    known = [claim.id for claim in claims]
    for name in ids:
        if name not in known:
            raise SourceError(f"ids: there is no claim {name!r}{hint(name, known)} (name claims of the source)")
    return [claim for claim in claims if claim.id in set(ids)]


def choose(claims: Sequence[Claim], limit: int | None, seed: int) -> list[Claim]:
    """Draw so many claims, in the order they have; all where there are no more."""
    if limit is None or limit >= len(claims):
        return list(claims)
    return [claims[place] for place in sorted(random.Random(seed).sample(range(len(claims)), limit))]


def _shipped(name: str, source: str) -> Iterator[Claim]:
    if name != SHIPPED:
        raise SourceError(f"{source!r}: no claims called {name!r} are shipped; write shipped:{SHIPPED}")
    path = data_folder() / SHIPPED / "pairs.yaml"
    try:
        value = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise SourceError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    for pair in Row({"pairs": value}, str(path)).rows("pairs"):
        for side in ("for", "against"):
            own = pair.row(side)
            yield Claim(f"{pair.text('id')}-{side}", pair.text("topic"), own.text("claim"), own.text("reason"), source)


def _of_file(place: str, source: str) -> Iterator[Claim]:
    path = find(place)
    rows: Iterable[Row] = csv_rows(path) if is_csv(path) else json_rows(path)
    for row in rows:
        topic = row.text("title" if "title" in row.values and "topic" not in row.values else "topic").strip()
        text, reason = row.text("claim").strip(), row.text("reason").strip()
        made = hashlib.sha256(f"{topic}\0{text}\0{reason}".encode()).hexdigest()[:16]
        named = row.has("id") and str(row.values["id"]).strip()
        yield Claim(row.text("id").strip() if named else f"claim-{made}", topic, text, reason, source)
