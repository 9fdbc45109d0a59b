"""Situations that are drawn instead of written: path, load, sockets and none to three injected causes with their doses.

`distributions` states what is drawn, `causes` what can be injected, `draw` makes a catalog of a seed, `judge` says what
the diagnosis of each is worth, and `first_looks` keeps one line for each set of situations that was judged.
"""
