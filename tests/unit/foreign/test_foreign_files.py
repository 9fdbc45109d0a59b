"""Files that somebody else may have made."""

import os
from pathlib import Path

import pytest

from whyperf.foreign import read_bytes, read_text, refuse_link


def test_a_plain_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    assert read_text(tmp_path / "file") == "text"
    (tmp_path / "link").symlink_to("file")
    assert read_text(tmp_path / "link", is_users=True) == "text"


def test_what_is_no_plain_file_is_refused_and_never_awaited(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to("secret")
    with pytest.raises(OSError, match="symbolic link"):
        read_bytes(tmp_path / "link")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "fifo", tmp_path / "folder", Path("/dev/zero")):
        with pytest.raises(OSError, match="not a plain file"):
            read_bytes(path)
        with pytest.raises(OSError, match="not a plain file"):
            read_bytes(path, is_users=True)


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="larger than 16 MiB"):
        read_bytes(tmp_path / "huge")


def test_a_link_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    refuse_link(tmp_path)
    refuse_link(tmp_path / "nothing")
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(OSError, match="symbolic link"):
        refuse_link(tmp_path / "link")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        refuse_link(tmp_path / "file")
