"""Where the adapter of a local model lies: in a folder, among the shipped ones, or on the hub."""

from __future__ import annotations

from pathlib import Path

from debate.errors import ModelAccessError

SHIPPED = "shipped:"
HUB = "hf/"
OWN = "adapter"
"""The folder in a training's folder that holds what it trained."""
_FILES = ("adapter_config.json", "adapter_model.safetensors", "dissoi.json")
_HUB_TIMEOUT_S = 5.0


def adapter_folder(adapter: str) -> Path:
    """Find the folder of an adapter, downloading it from the hub if need be.

    Args:
        adapter: ``shipped:NAME`` for one that comes with this project, ``hf/OWNER/NAME`` for one on the hub, or else a
            folder.

    Returns:
        The folder; one that was named as a folder need not exist.

    Raises:
        ModelAccessError: There is no such shipped adapter, or the hub does not give it.
    """
    if adapter.startswith(SHIPPED):
        return _shipped(adapter.removeprefix(SHIPPED))
    folder = Path(adapter).expanduser()
    owner, _, name = adapter.removeprefix(HUB).partition("/")
    if folder.is_dir() or not (adapter.startswith(HUB) and owner and name):
        return folder
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(f"{owner}/{name}", allow_patterns=list(_FILES), etag_timeout=_HUB_TIMEOUT_S))
    except Exception as error:  # the hub client fails in many ways, and each means the same here
        raise ModelAccessError(
            f"adapter {adapter}: neither a folder nor to be had from the hub ({type(error).__name__}: {error}); check "
            "the name, the network and the access token"
        ) from error


def adapter_label(adapter: str) -> str:
    """Return what an adapter is called: the last part of its name or path.

    Every training calls its own ``adapter``, so that one is called as its training's folder is.
    """
    path = Path(adapter.removeprefix(SHIPPED)).expanduser()
    if path.name in {"", ".."}:  # they have no name of their own
        path = path.resolve()
    return (path.name != OWN and path.name) or path.parent.name or path.name


def _shipped(name: str) -> Path:
    from debate.sources.locate import data_folder

    all_of_them = data_folder() / "adapters"
    names = sorted(folder.name for folder in all_of_them.glob("*/") if (folder / _FILES[0]).is_file())
    if name not in names:
        raise ModelAccessError(
            f"adapter {SHIPPED}{name}: the adapters that ship are {', '.join(names) or 'none'}; name one of them, or "
            "a folder"
        )
    return all_of_them / name
