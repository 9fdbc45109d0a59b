"""The documents say what is there: links, generated tables, fields of the result, words of the factors."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from scripts.doc_tables import filled, main, record_columns
from scripts.lists import lists
from tests.docs.documents import DOCUMENTS, ROOT, anchors, links, name_of
from whyperf.analyze import Summary
from whyperf.analyze.spread import Spread
from whyperf.cli.output.lists import ROWS
from whyperf.profile import FACTORS
from whyperf.profile.find import shipped_names
from whyperf.record.kinds import COLUMNS


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document: Path) -> None:
    for link in links(document.read_text()):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        file = (document.parent / target).resolve() if target else document
        assert file.exists(), f"{name_of(document)} links to {link}"
        if anchor:
            assert anchor in anchors(file.read_text()), f"{name_of(document)} links to {link}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_generated_tables_are_current(document: Path) -> None:
    text = document.read_text()
    assert filled(text) == text, "run make schemas"


def test_tables_are_written_in_subfolders(tmp_path: Path) -> None:
    page = tmp_path / "reference" / "page.md"
    page.parent.mkdir()
    page.write_text("<!-- table warnings -->\n<!-- end -->\n")
    main(tmp_path)
    assert "| Code |" in page.read_text()


def test_pages_of_all_folders_are_checked() -> None:
    folders = {document.parent.name for document in DOCUMENTS if document.is_relative_to(ROOT / "docs")}
    assert folders >= {path.name for path in (ROOT / "docs").iterdir() if any(path.glob("*.md"))}


def test_the_package_knows_the_columns_of_the_record() -> None:
    assert COLUMNS.read_text() == record_columns(), "run make schemas"


def test_the_package_has_the_current_rows_of_whyperf_list() -> None:
    assert ROWS.read_text() == lists(), "run make schemas"


def test_every_factor_is_documented() -> None:
    text = (ROOT / "docs/reference/profiles.md").read_text()
    assert [factor.name for factor in FACTORS if f"| `{factor.name}` |" not in text] == []


def test_every_shipped_profile_is_documented() -> None:
    text = (ROOT / "docs/reference/profiles.md").read_text()
    assert [name for name in shipped_names() if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_commands_give_a_path_by_its_options(document: Path) -> None:
    # The studies' commands are stored with their outcomes.
    if name_of(document) != "docs/laboratory/studies.md":
        text = document.read_text().replace("\\\n", "")
        assert re.findall(r"^\$ .*--set path_(?:rtt_ms|rate_bps|loss)=.*$", text, re.MULTILINE) == []


def test_make_targets_in_documents_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in DOCUMENTS:
        named = set(re.findall(r"(?:^\$ |`)make ([a-z-]+)", document.read_text(), re.MULTILINE))
        assert named <= targets, name_of(document)


def fields(model: type[BaseModel], prefix: str = "") -> list[str]:
    """Every field of the result by its path, such as `cells[].goodput_bps.median`."""
    found = []
    for name, field in model.model_fields.items():
        path = f"{prefix}{name}"
        found.append(path)
        for part in _models(field.annotation):
            repeated = "[]" if "list[" in str(field.annotation) else ""
            found += fields(part, f"{path}{repeated}.")
    return found


def _models(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _models(part)]


def test_every_field_of_the_result_is_documented() -> None:
    text = (ROOT / "docs/reference/result-json.md").read_text()
    documented = {
        name.replace("<end>", end).replace("<latency>", latency).replace("<spread>", spread).replace("<state>", state)
        for name in re.findall(r"`([^`\s]+)`", text)
        for end in ("sender", "receiver")
        for latency in ("latency", "wire", "host", "connect", "by_name[].latency")
        for spread in Spread.model_fields
        for state in ("load", "idle")
    }
    missing = [field for field in fields(Summary) if field.removeprefix("cells[].") not in documented]
    assert missing == []
