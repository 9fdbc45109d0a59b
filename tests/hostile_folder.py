"""A current folder in which somebody else has put modules with the names that Python programs import."""

import sys
from pathlib import Path

#: Packages of the product and of its libraries.
PACKAGES = ("whyperf", "distributed", "dask", "tornado", "click", "numpy", "polars", "pydantic", "sitecustomize")


class HostileFolder:
    """Modules that leave a trace when they are imported, as the user who imports them."""

    def __init__(self, folder: Path) -> None:
        """Write them into a new folder below `folder`."""
        self.path = folder / "hostile"
        self._trace = folder / "imported"
        text = f"open({str(self._trace)!r}, 'a').write(__name__ + ' ')\n"
        for name in {*PACKAGES, *sys.stdlib_module_names}:
            module = self.path / name
            module.mkdir(parents=True)
            (module / "__init__.py").write_text(text)

    @property
    def imported(self) -> str:
        """The names of those that were imported."""
        return self._trace.read_text() if self._trace.exists() else ""
