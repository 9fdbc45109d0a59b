"""The live line of experiments: the best answer so far, what is tried, and the time left."""

import os
import shutil
import sys
import time

from whyperf.cli.exits import say
from whyperf.explain.experiments.answer import Answer
from whyperf.explain.wording.experiments import answer_words, try_words
from whyperf.foreign import visible

LINE_S = 5.0
"""Where nobody watches live, a line at most this often."""
ERASE = "\r\x1b[K"


class WhyLine:
    """Shows where experiments are: one line that is written anew on a terminal, a line every few seconds elsewhere."""

    def __init__(self, goal: str, *, is_quiet: bool) -> None:
        """Shows nothing yet of experiments for a goal, and nothing at all where it is quiet."""
        self._goal = goal
        self._is_live = sys.stderr.isatty() and not is_quiet
        self._is_quiet = is_quiet
        self._answer = ""
        self._next_s = time.monotonic() + LINE_S

    def on_answer(self, answer: Answer) -> None:
        """Notes what is believed now."""
        self._answer = answer_words(answer, goal=self._goal, is_open=True)

    def on_try(self, name: str, left_s: float) -> None:
        """An experiment starts."""
        text = f"{self._answer} · trying {try_words(name)} · {max(0, round(left_s))} s left"
        if self._is_live:
            columns = shutil.get_terminal_size().columns - 1
            self._write(ERASE + visible(text)[:columns])
        elif not self._is_quiet and time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + LINE_S
            say(text)

    def on_message(self, text: str) -> None:
        """A fact worth a line of its own."""
        self._erase()
        say(text)

    def __enter__(self) -> "WhyLine":
        """The line itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Erases it: the answer is printed next."""
        self._erase()

    def _erase(self) -> None:
        if self._is_live:
            self._write(ERASE)

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.flush()
        os.write(sys.stderr.fileno(), text.encode(sys.stderr.encoding or "utf-8", errors="replace"))
