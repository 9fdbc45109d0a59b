"""Experiments that decide what limits a load: one setting is changed for a second, next to the original.

`goals` has what is to be better, `tries` what can be tried and of which causes it takes away the limit, `outcomes` what
a gain says, `beliefs` the probabilities of causes, `ladder` what comes next and when it is enough, `question` the plan
of it, `answer` what is said then. Measuring is the business of `whyperf.run`, which the command line calls in between.
"""
