"""Text for the data of an explanation: claims, evidence, remedies, patterns, anomalies, experiments.

`catalog.toml` holds every sentence as a template, and `catalog.render` fills in values. The other modules compose text
from several templates. Rules, patterns and anomalies return codes and values; terminal and report print this text.
"""
