"""Where source files lie: the shipped data, paths, URLs and data sets of the hub."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from debate.errors import SourceError
from debate.models.embedded import cache_folder

URL_TIMEOUT_S = 30.0
HUB_TIMEOUT_S = 5.0
_PACKAGE = Path(__file__).resolve().parent.parent


def data_folder() -> Path:
    """Return the folder of the shipped data: ``debate/_data`` in an installed wheel, ``data`` in a checkout.

    Raises:
        SourceError: Neither is there.
    """
    for folder in (_PACKAGE / "_data", _PACKAGE.parent / "data"):
        if (folder / "stories").is_dir():
            return folder
    raise SourceError(
        f"the shipped data are neither in {_PACKAGE / '_data'} nor in {_PACKAGE.parent / 'data'}; install Dissoi "
        "again, from its wheel or from a whole checkout"
    )


def find(place: str) -> Path:
    """Return the local path of a source's FILE, downloading it where that is needed.

    Args:
        place: A path, an http(s) URL (kept in the cache folder under its digest once downloaded), or
            ``hub:OWNER/DATASET/FILE``.

    Returns:
        A path that exists.

    Raises:
        SourceError: There is nothing there, or it cannot be downloaded.
    """
    if place.startswith(("http://", "https://")):
        return _download(place)
    if place.startswith("hub:"):
        return _from_hub(place)
    path = Path(place).expanduser()
    if not path.exists():
        raise SourceError(f"no file {path} (looked from {Path.cwd()}); check the path in the source")
    return path


def _download(url: str) -> Path:
    import httpx

    name = PurePosixPath(urlsplit(url).path).name or "download"
    target = cache_folder() / "downloads" / f"{hashlib.sha256(url.encode()).hexdigest()[:24]}-{name}"
    if target.is_file():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=target.parent, prefix="partial-")
        try:
            with (
                os.fdopen(handle, "wb") as file,
                httpx.stream("GET", url, follow_redirects=True, timeout=URL_TIMEOUT_S) as response,
            ):
                response.raise_for_status()
                for chunk in response.iter_bytes():
                    file.write(chunk)
            Path(partial).replace(target)
        finally:
            Path(partial).unlink(missing_ok=True)
    except httpx.HTTPStatusError as error:
        raise SourceError(f"{url} answered {error.response.status_code}; check the address") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise SourceError(
            f"cannot download {url}: {type(error).__name__}: {error}; check the network, or give a local path"
        ) from error
    except OSError as error:
        raise SourceError(
            f"cannot keep {url} in {target.parent}: {error.strerror}; set DISSOI_CACHE to a folder you can write to"
        ) from error
    return target


def _from_hub(place: str) -> Path:
    import httpx

    parts = place.removeprefix("hub:").split("/", 2)
    if len(parts) < 3 or not all(parts):
        raise SourceError(f"{place!r} does not name a file of the hub; write hub:OWNER/DATASET/FILE")
    owner, dataset, file = parts

    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    repo = f"{owner}/{dataset}"
    try:
        return Path(hf_hub_download(repo, file, repo_type="dataset", local_files_only=True))
    except LocalEntryNotFoundError as error:
        if constants.HF_HUB_OFFLINE:
            raise SourceError(
                f"{place} is not in the hub's cache and HF_HUB_OFFLINE is set; unset it, or give a local path"
            ) from error
    except ValueError as error:  # the hub's client refuses malformed names
        raise SourceError(
            f"{place!r} does not name a file of the hub: {error}; write hub:OWNER/DATASET/FILE"
        ) from error
    try:
        # The client retries for minutes where there is no network; one short request says so at once.
        httpx.head(f"{constants.ENDPOINT}/datasets/{repo}/resolve/main/{file}", timeout=HUB_TIMEOUT_S)
        return Path(hf_hub_download(repo, file, repo_type="dataset", etag_timeout=HUB_TIMEOUT_S))
    except HfHubHTTPError as error:
        raise SourceError(
            f"{place}: the hub has no such data set or file, or it is private ({error.response.status_code}); check "
            "the name, or set HF_TOKEN"
        ) from error
    except (httpx.HTTPError, OSError) as error:
        raise SourceError(
            f"cannot download {place} from {constants.ENDPOINT}: {type(error).__name__}; check the network, or give a "
            "local path"
        ) from error
