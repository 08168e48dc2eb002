"""What an offline run of Weights & Biases holds, and an environment in which wandb finds nothing of the user's."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Offline(NamedTuple):
    """What an offline run holds."""

    folder: Path
    project: str
    group: str
    run_id: str
    host: str
    config: dict[str, Any]
    summary: dict[str, Any]
    files: list[str]
    artifacts: dict[str, str]  # their types by name
    exit_code: int | None

    def table(self, key: str) -> dict[str, Any]:
        """Read a table that was logged."""
        path = self.folder / "files" / self.summary[key]["path"]
        loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return loaded


def records(path: Path) -> Iterator[Any]:
    """Read the transaction log: after a header of 7 bytes, blocks of 32 KiB of checksummed pieces of records."""
    from wandb.proto import wandb_internal_pb2

    make_record: Any = vars(wandb_internal_pb2)["Record"]
    data = path.read_bytes()
    assert data.startswith(b":W&B")
    position, pieces = 7, b""
    while position < len(data):
        left = 32768 - position % 32768
        if left < 7:
            position += left
            continue
        checksum, length, kind = struct.unpack("<IHB", data[position : position + 7])
        piece = data[position + 7 : position + 7 + length]
        assert zlib.crc32(bytes([kind]) + piece) == checksum
        position += 7 + length
        pieces += piece
        if kind in {1, 4}:  # a whole record, or the last piece of one
            record = make_record()
            record.ParseFromString(pieces)
            yield record
            pieces = b""


def read_offline(folder: Path) -> Offline:
    """Read the folder of an offline run."""
    (log,) = folder.glob("run-*.wandb")
    project = group = run_id = host = ""
    artifacts: dict[str, str] = {}
    config: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    files: list[str] = []
    exit_code = None
    for record in records(log):
        match record.WhichOneof("record_type"):
            case "run":
                project, run_id, host = record.run.project, record.run.run_id, record.run.host
                group = record.run.run_group
                config |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
            case "summary":
                for item in record.summary.update:
                    *above, last = item.nested_key or [item.key]
                    node = summary
                    for key in above:
                        node = node.setdefault(key, {})
                    node[last] = json.loads(item.value_json)
            case "files":
                files += [item.path for item in record.files.files]
            case "artifact":
                artifacts[record.artifact.name] = record.artifact.type
            case "request" if record.request.HasField("log_artifact"):
                artifact = record.request.log_artifact.artifact
                artifacts[artifact.name] = artifact.type
            case "exit":
                exit_code = record.exit.exit_code
    return Offline(folder, project, group, run_id, host, config, summary, files, artifacts, exit_code)


def environment(home: Path, **more: str) -> dict[str, str]:
    """An environment in which wandb finds no key, no settings and no folder of the user's."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("WANDB", "NETRC", "XDG", "HOME"))}
    own = {"HOME": str(home), "NETRC": str(home / "netrc"), "WANDB_CONFIG_DIR": str(home / "wandb")}
    return {**kept, **own, "WANDB_ERROR_REPORTING": "false", "PYTHONPATH": str(ROOT), **more}
