"""Changes made to a side of the testbed while a trial runs, and undone after it: rules of nftables; and to a network
namespace that the user named, while a command runs there again.

`model` says what they are, as data. `keeper` is a process of its own: it sets them, and removes them when its standard
input ends, which it also does when the controller is killed. `network` and `namespace` have
the actions.
"""
