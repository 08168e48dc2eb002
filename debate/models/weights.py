"""What a folder of weights holds: one digest over everything that can change a reply."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

# Files that decide a reply: weights, shape, tokenizer, template. Others (model cards, records) do not.
DECISIVE = re.compile(
    r".*\.safetensors|.*\.bin|.*\.jinja|config\.json|generation_config\.json"
    r"|tokenizer.*\.json|tokenizer\.model|vocab\.(json|txt)|merges\.txt|special_tokens_map\.json|added_tokens\.json"
)
# Of an adapter's folder: tokenizer and template are the base model's, whatever a trainer has copied beside the adapter.
ADAPTER = re.compile(r"adapter_model\.safetensors|adapter_config\.json")
SIDECAR = "dissoi-digests.json"
LARGE_BYTES = 8 << 20


def file_digest(path: Path) -> str:
    """Return the sha256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(folder: Path, decisive: re.Pattern[str] = DECISIVE) -> str:
    """Return the sha256 over names and contents of a model folder's decisive files.

    Large files are hashed once: a hub cache names them by their sha256, elsewhere the digest is stored beside them and
    holds while size and modification time stay.

    Args:
        folder: A model's or adapter's folder as ``save_pretrained`` writes it.
        decisive: The names of the files that count.

    Returns:
        Hexadecimal digits.

    Raises:
        FileNotFoundError: The folder holds no decisive file.
    """
    files = sorted(file for file in folder.iterdir() if file.is_file() and decisive.fullmatch(file.name))
    if not files:
        raise FileNotFoundError(f"{folder}: no weights in this folder")
    sidecar = folder / SIDECAR
    known = _read(sidecar)
    digests: dict[str, str] = {}
    fresh: dict[str, dict[str, str | int]] = {}
    for file in files:
        blob = file.resolve().name
        status = file.stat()
        entry = known.get(file.name, {})
        if re.fullmatch(r"[0-9a-f]{64}", blob):
            digests[file.name] = blob
        elif status.st_size < LARGE_BYTES:
            digests[file.name] = file_digest(file)
        elif entry.get("size") == status.st_size and entry.get("mtime_ns") == status.st_mtime_ns:
            digests[file.name] = str(entry["sha256"])
            fresh[file.name] = entry
        else:
            digests[file.name] = file_digest(file)
            fresh[file.name] = {
                "size": status.st_size,
                "mtime_ns": status.st_mtime_ns,
                "sha256": digests[file.name],
            }
    if fresh and fresh != known:
        _write(sidecar, fresh)
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def _read(sidecar: Path) -> dict[str, dict[str, str | int]]:
    try:
        known = json.loads(sidecar.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write(sidecar: Path, digests: dict[str, dict[str, str | int]]) -> None:
    try:
        sidecar.write_text(json.dumps(digests, indent=1), encoding="utf-8")
    except OSError:  # a read-only folder: hashed again next time
        return
