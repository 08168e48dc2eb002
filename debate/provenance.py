"""Where a run comes from: code revision, package versions, machine, and hashes of its data."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from debate.config import Tree, digest
from debate.question import Question
from debate.record import Recorded, to_json

_PACKAGES = (
    "dissoi",
    "torch",
    "transformers",
    "peft",
    "openai",
    "numpy",
    "scipy",
    "pydantic",
    "rapidfuzz",
    "rustworkx",
)


def provenance(
    data: Mapping[str, Sequence[Question]],
    prompts: Mapping[str, str],
    extensions: Mapping[str, str] | None = None,
    recorded: Sequence[Recorded] | None = None,
) -> Tree:
    """Describe where a run's results come from; what its models are is kept when they are opened.

    Args:
        data: Questions by what they are used for.
        prompts: A digest of each prompt template in effect, by name.
        extensions: A digest of each extension's file, by import path.
        recorded: The debates that are judged again, with the verdicts that came with them; None where debates are held.

    Returns:
        A tree of plain values for the run's ``config.yaml``.
    """
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "revision": git_revision(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {name: version for name in _PACKAGES if (version := _version(name)) is not None},
        "data": {name: questions_digest(questions) for name, questions in data.items()}
        | ({} if recorded is None else {"recorded": recorded_digest(recorded)}),
        "prompts": dict(prompts),
        "extensions": dict(extensions or {}),
    }


def git_revision() -> str | None:
    """Return the commit of this code, with "+changes" where the working tree differs; None outside a checkout."""
    root = Path(__file__).resolve().parent.parent
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None

    def ask(*arguments: str) -> str | None:
        done = subprocess.run([git, "-C", str(root), *arguments], capture_output=True, text=True, check=False)  # noqa: S603 - fixed arguments
        return done.stdout.strip() if done.returncode == 0 else None

    revision = ask("rev-parse", "HEAD")
    if revision is None:
        return None
    return f"{revision}+changes" if ask("status", "--porcelain", "--untracked-files=no") else revision


def questions_digest(questions: Sequence[Question]) -> str:
    """Hash questions, gold and stories included (sha256, hexadecimal); where they were loaded from does not count."""
    return digest([[q.id, q.text, q.answers, q.gold, q.story, q.story_id, q.fold] for q in questions])


def recorded_digest(recorded: Sequence[Recorded]) -> str:
    """Hash debates with their verdicts: what was said and by whom, and who judged what (sha256, hexadecimal).

    Neither their order nor where their questions were loaded from counts.
    """
    return digest(sorted(_record_digest(item) for item in recorded))


def _record_digest(item: Recorded) -> str:
    transcript = item.debate.transcript
    question = dataclasses.replace(transcript.question, source="")
    debate = dataclasses.replace(item.debate, transcript=dataclasses.replace(transcript, question=question))
    # Of two verdicts for one judge, order and round a run keeps the first.
    verdicts = {(one.judge, one.order, one.round): one for one in reversed(item.verdicts)}
    lines = [to_json(debate), *sorted(map(to_json, verdicts.values()))]
    return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
