"""LoRA adapters behind a server (vLLM): loaded by path where it takes them at run time, and probed before use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from debate.errors import ContextError, ModelAccessError, ModelError
from debate.models.endpoints import Setback
from debate.models.site import Site


class ServedAdapter(NamedTuple):
    """An adapter that a server has, or is to load.

    Attributes:
        name: What the server calls it, as it calls a model.
        path: Its folder, where the server is to load it; None where it has it already.
    """

    name: str
    path: str | None = None


def served_adapter(adapter: str, name: str, *, lora: bool) -> ServedAdapter:
    """Say how a server knows an adapter.

    Args:
        adapter: As configured: a folder, or a name that the server was started with.
        name: The last part of the folder.
        lora: Whether the server loads adapters at run time (declared).

    Returns:
        The adapter. A folder that is on this machine too is given in full, for the server runs in another one.
    """
    if not lora:
        return ServedAdapter(adapter)
    folder = Path(adapter).expanduser()
    return ServedAdapter(name, str(folder.absolute()) if folder.exists() else adapter)


async def ensure_served(site: Site, adapter: ServedAdapter) -> None:
    """Load an adapter where need be, then hold that the server lists it and answers with it.

    Some servers accept a folder that is not there, and fail, or die, only when the adapter is used.

    Args:
        site: The model at a server.
        adapter: The adapter.

    Raises:
        ModelAccessError: The server has no such adapter; the message says what to do.
        Setback: The server could not say; another try may help.
        DissoiError: See ``Site.request``.
    """
    roots = await _listed(site)
    if adapter.name not in roots:
        await _load(site, adapter, roots)
        roots = await _listed(site)
    if adapter.name not in roots:
        raise ModelAccessError(
            f"{site.who}: the server took adapter {adapter.name!r} but does not list it ({_names(roots)}); see its log"
        )
    root = roots[adapter.name]
    if adapter.path is not None and root is not None and root.rstrip("/") != adapter.path.rstrip("/"):
        raise ModelAccessError(
            f"{site.who}: the server has another adapter by the name {adapter.name!r}, of {root}, not {adapter.path}; "
            "unload it (POST /unload_lora_adapter), or give this one's folder another name"
        )
    try:
        await site.complete(adapter.name, [{"role": "user", "content": "Hello"}], {"max_tokens": 1})
    except Setback as setback:
        if setback.kind != "broken":
            raise
        raise _useless(site, adapter, setback.error) from None
    except ModelError as error:
        raise _useless(site, adapter, error) from None


def _useless(site: Site, adapter: ServedAdapter, error: Exception) -> ModelAccessError:
    return ModelAccessError(
        f"{site.who}: the server lists adapter {adapter.name!r} but does not answer with it: {error}; is its folder on "
        "the server, and was it trained on this model?"
    )


async def _load(site: Site, adapter: ServedAdapter, roots: dict[str, str | None]) -> None:
    if adapter.path is None:
        raise ModelAccessError(
            f"{site.who}: the server has no adapter {adapter.name!r} ({_names(roots)}); start it with the adapter "
            "(vLLM: --enable-lora --lora-modules NAME=FOLDER), or declare `lora: true` and give the adapter's folder"
        )
    try:
        body = {"lora_name": adapter.name, "lora_path": adapter.path}
        await site.request("POST", "/load_lora_adapter", body)
    except (ContextError, Setback):
        raise
    except (ModelError, ModelAccessError) as error:
        # Another model of this run, or another run, may have been quicker.
        if "already" in str(error):
            return
        raise ModelAccessError(
            f"{site.who}: the server did not load adapter {adapter.name!r} from {adapter.path}: {error}; the folder "
            "must be on the server, and vLLM be started with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"
        ) from None


async def _listed(site: Site) -> dict[str, str | None]:
    """Return the models that a server lists, and the folder of each where it says."""
    response = await site.request("GET", "/models")
    try:
        rows = json.loads(response.body)["data"]
        return {str(row["id"]): None if row.get("root") is None else str(row["root"]) for row in rows}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ModelAccessError(
            f"{site.who}: the server gives no list of its models, so its adapters are not known; check the base URL"
        ) from None


def _names(roots: dict[str, str | None]) -> str:
    """Name up to ten models that a server has."""
    names = sorted(roots)
    return f"it has {', '.join(names[:10]) or 'none'}{' and more' if len(names) > 10 else ''}"
