"""The disturbance of the two sides of the testbed by truth experiments while a trial runs, and its undoing after it.

`model` says what it is, as data. `keeper` is a process of its own: it starts the disturbances, and undoes them when its
standard input ends, which it also does when the controller is killed. `host` and `network` are the actions, `programs`
the programs that they start. `tools` says what is missing on this host. `launcher` is a process that runs programs of
others on a side, and ends with all of them.
"""
