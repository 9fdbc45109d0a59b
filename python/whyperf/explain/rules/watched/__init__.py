"""Rules for the connections of other programs: what samples of a socket show, of which often one side only is watched.

What one side does not separate is not known, with the causes that it fits.
"""
