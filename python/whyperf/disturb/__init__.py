"""Disturbances: what is done to the two sides of the testbed while a trial runs, and undone after it.

`model` says what they are, as data. `keeper` is a process of its own: it starts them, and undoes them when its standard
input ends, which it also does when the controller is killed. `host` and `network` are the actions, `programs` the
programs that they start. `tools` says what is missing on this host.
"""
