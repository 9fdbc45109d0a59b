"""Says where a connection's time went, why, on what evidence, and what to change.

From the record to words: `states` and `causes` are the vocabulary, `model` what an explanation
holds. A budget puts every nanosecond into one state of each side, a pattern describes the cycle that
repeats, an anomaly a point of a sweep that stands out; a verdict names the cause, and experiments
say whether changing it raises the rate.
"""
