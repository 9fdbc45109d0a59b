"""Parts that every page needs and no result changes: compiled templates and packed scripts, kept between commands.

Making them takes 0.2 s. Without a folder that this user may write they are made each time.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import jinja2

from whyperf import __version__
from whyperf.foreign import exchangeable
from whyperf.record.durable import write_file


def cache_folder() -> Path | None:
    """`${XDG_CACHE_HOME:-~/.cache}/whyperf/pages-VERSION` (XDG Base Directory), made for this user alone; or None."""
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        folder = Path(cache) / "whyperf" / f"pages-{__version__}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except (OSError, RuntimeError):
        return None
    # Compiled templates are code: they are read from no folder that is, or could be, somebody else's.
    is_own = found.st_uid == os.geteuid() and not found.st_mode & 0o022 and exchangeable(folder, is_code=True) is None
    return folder if is_own and os.access(folder, os.W_OK) else None


def templates() -> jinja2.BytecodeCache | None:
    """Where Jinja keeps what it has compiled; it compiles a changed template again."""
    folder = cache_folder()
    return None if folder is None else jinja2.FileSystemBytecodeCache(str(folder), "%s.template")


def kept(name: str, source: bytes, make: Callable[[], bytes]) -> bytes:
    """The content that `make` makes of `source`, made once.

    Args:
        name: of the file in the cache.
        source: what it is made of; anything else gives another file.
        make: makes it.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    path = folder / f"{name}-{sha256(source).hexdigest()}"
    with suppress(OSError):
        return path.read_bytes()
    content = make()
    with suppress(OSError):
        write_file(path, content)
    return content
