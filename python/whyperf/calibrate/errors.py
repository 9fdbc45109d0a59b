"""What a calibration or a what-if can have wrong, in one sentence."""


class CalibrationError(Exception):
    """A host cannot be calibrated, a calibrated host cannot be used, or a what-if cannot be asked; says the remedy."""


class QuestionError(CalibrationError):
    """What is asked of the model is what it cannot answer: another question can be."""
