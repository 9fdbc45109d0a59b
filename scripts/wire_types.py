"""Prints python/whyperf/wire.py, the types of all messages, made from schemas/. Run it by `make schemas`.

A type is a TypedDict: it costs nothing where a message is made or read, and pydantic checks what comes from outside
against it (`whyperf.run.agents.replies`).
"""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from datamodel_code_generator import InputFileType, generate
from datamodel_code_generator.enums import DataModelType
from datamodel_code_generator.format import PythonVersion
from datamodel_code_generator.parser import LiteralType

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "python" / "whyperf" / "wire.py"
#: The types of whole documents; those of their parts are found by themselves.
ROOTS = {
    "request": "RequestEnvelope",
    "reply": "ReplyEnvelope",
    "simulation": "Simulation",
    "simulated": "SimulatedTrial",
}
HEADER = '''"""Types of the messages between controller, agent and model: one for each type of `schemas/`.

Generated from schemas/ by scripts/wire_types.py (`make schemas`); do not edit.

The whole messages are `RequestEnvelope`, `ReplyEnvelope`, `Simulation` and `SimulatedTrial`. `Request…` and `Reply…`
are their variants, by the value of `request` and `reply`. A type stands below the types that it uses; otherwise they
are in alphabetical order. docs/reference/protocol.md explains the messages.
"""
'''
IMPORTS = ["typing.Annotated", "annotated_types.Interval", "annotated_types.Len", "pydantic.Discriminator"]
#: The name of a number's type and what it is below.
NUMBERS = {"uint8": ("U8", 2**8), "uint16": ("U16", 2**16), "uint32": ("U32", 2**32), "uint64": ("U64", 2**64)}
#: Of a 64-bit number in a reply: sums and differences of two fit into the 64 bits with a sign that tables are computed
#: in.
COUNT = ("Count", 2**62)

Schema = dict[str, Any]


class Definitions:
    """All types of all schemas under one name each, and what pydantic is to check of those that Python cannot say."""

    def __init__(self) -> None:
        """Reads the schemas.

        Raises:
            ValueError: two schemas have different types of one name.
        """
        self.types: dict[str, Schema] = {}
        self.checks: dict[str, str] = {}
        for name, root in ROOTS.items():
            self._numbers = NUMBERS | ({"uint64": COUNT} if name == "reply" else {})
            schema = json.loads((ROOT / "schemas" / f"{name}.json").read_text())
            for part, definition in (schema.pop("$defs") | {root: schema}).items():
                self._add(part, self._named(definition, part))

    def _add(self, name: str, definition: Schema) -> None:
        if self.types.setdefault(name, definition) != definition:
            raise ValueError(f"the schemas have two different types {name}; rename one in crates/schema")

    def _reference(self, name: str, definition: Schema) -> Schema:
        self._add(name, definition)
        return {"$ref": f"#/$defs/{name}"}

    def _named(self, schema: Schema, name: str) -> Schema:
        """The same with a name for each variant, for each bounded number and for each list that is never empty."""
        schema = {key: value for key, value in schema.items() if key not in {"default", "title", "$schema"}}
        variants = schema.get("oneOf", [])
        if variants and all("properties" in variant for variant in variants):
            return self._union(schema, name)
        if "properties" in schema:
            schema["properties"] = {key: self._named(value, _camel(key)) for key, value in schema["properties"].items()}
        if "items" in schema:
            schema["items"] = self._named(schema["items"], name)
        if "anyOf" in schema:
            schema["anyOf"] = [self._named(choice, name) for choice in schema["anyOf"]]
        return self._bounded(schema, name)

    def _union(self, schema: Schema, name: str) -> Schema:
        """A union whose variants differ by a tag: each is named by the union and its tag."""
        (tag,) = {
            key for variant in schema["oneOf"] for key, value in variant["properties"].items() if "const" in value
        }
        references = []
        for variant in schema["oneOf"]:
            own = name + _camel(variant["properties"][tag]["const"])
            # A variant that is a type of its own and the tag.
            base = {"allOf": [{"$ref": variant["$ref"]}]} if "$ref" in variant else {}
            alone = {key: value for key, value in variant.items() if key != "$ref"}
            references.append(self._reference(own, self._named(alone, own) | base))
        self.checks[name] = f'Discriminator("{tag}")'
        return {"oneOf": references, "description": schema.get("description", "")}

    def _bounded(self, schema: Schema, name: str) -> Schema:
        if schema.get("minItems"):
            self.checks[name] = f"Len({schema['minItems']})"
            return self._reference(name, {key: value for key, value in schema.items() if key != "description"})
        if schema.get("format") not in self._numbers:
            return schema
        alias, bound = self._numbers[schema["format"]]
        self.checks[alias] = f"Interval(ge=0, lt={bound})"
        reference = self._reference(alias, {"type": "integer"})
        return {"anyOf": [reference, {"type": "null"}]} if "null" in schema["type"] else reference


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def wire_types() -> str:
    """The module's text."""
    found = Definitions()
    extra: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for name, check in found.checks.items():
        extra[name]["check"] = check
    whole = ROOTS["simulated"]
    text = generate(
        json.dumps({"$defs": found.types} | {"title": whole} | found.types.pop(whole)),
        input_file_type=InputFileType.JsonSchema,
        output_model_type=DataModelType.TypingTypedDict,
        target_python_version=PythonVersion.PY_311,
        enum_field_as_literal=LiteralType.All,
        use_union_operator=True,
        use_schema_description=True,
        use_single_line_docstring=True,
        use_closed_typed_dict=False,
        disable_future_imports=True,
        # pydantic reads no other before Python 3.12.
        import_overrides={"TypedDict": "typing_extensions"},
        keep_model_order=True,
        custom_template_dir=ROOT / "scripts" / "wire_templates",
        extra_template_data=extra,
        additional_imports=IMPORTS,
        custom_file_header=HEADER,
        formatters=[],
    )
    assert isinstance(text, str)
    ruff = [str(Path(sys.executable).with_name("ruff"))]
    for options in (["check", "--fix-only", "--quiet"], ["format", "--quiet"]):
        command = [*ruff, *options, "--stdin-filename", str(OUTPUT), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    sys.stdout.write(wire_types())
