"""Fuzzes one target with coverage: `python -m tests.fuzz TARGET FOLDER [options of libFuzzer]`.

`FOLDER` has the corpus, one file each, and gets what is new. Atheris instruments the code under test when it is
imported.
"""

import random
import sys

import atheris

from tests.fuzz import corpora
from tests.fuzz.mutate import changed

with atheris.instrument_imports(include=["whyperf"], enable_loader_override=False):
    from tests.fuzz.targets import TARGETS

#: Share of the inputs that are changed by `mutate.py`; libFuzzer changes the others.
OWN_CHANGES = 0.7


def main() -> None:
    """Runs libFuzzer, which ends the process."""
    name, *rest = sys.argv[1:]
    others = corpora.load(name)

    def mutator(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        return changed(data, rng, others, most) if rng.random() < OWN_CHANGES else atheris.Mutate(data, len(data))

    atheris.Setup([sys.argv[0], *rest], TARGETS[name], custom_mutator=mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
