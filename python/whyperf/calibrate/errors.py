"""Possible errors of a calibration or a what-if, in one sentence."""


class CalibrationError(Exception):
    """A host cannot be calibrated, a calibrated host cannot be used, or a what-if cannot be asked; says the remedy."""


class QuestionError(CalibrationError):
    """The question is one that the model cannot answer: another one can be asked."""
