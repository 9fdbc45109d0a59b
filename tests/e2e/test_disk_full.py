"""A full disk: a sentence, no half trial, and a run that goes on once there is space."""
