"""What is done to a side of the testbed while a trial runs, and undone after it: rules of nftables.

`model` says what they are, as data. `keeper` is a process of its own: it sets them, and removes them when its standard
input ends, which it also does when the controller is killed. `network` is the action.
"""
