"""Build hook: a wheel carries ``data/`` as ``debate/_data``, where ``debate.sources.locate`` finds it."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools.command.build_py import build_py  # type: ignore[import-untyped]

DATA = Path(__file__).resolve().parent / "data"


class BuildWithData(build_py):  # type: ignore[misc]
    """Copies the data beside the packages; an editable install reads them where they are."""

    def run(self) -> None:
        """Build the packages, then copy the data."""
        super().run()
        if self.editable_mode:
            return
        for file, target in self._data():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:  # noqa: FBT001, FBT002 - setuptools' signature
        """List what is built, the data included."""
        return [*super().get_outputs(include_bytecode), *(str(target) for _, target in self._data())]

    def get_source_files(self) -> list[str]:
        """List what a source distribution needs, the data and this hook included."""
        data = (str(file.relative_to(DATA.parent)) for file, _ in self._data())
        return [*super().get_source_files(), Path(__file__).name, *data]

    def _data(self) -> list[tuple[Path, Path]]:
        built = Path(self.build_lib) / "debate" / "_data"
        return [(file, built / file.relative_to(DATA)) for file in sorted(DATA.rglob("*")) if file.is_file()]
