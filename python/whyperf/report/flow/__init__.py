"""Tells the segment flow of a trial: a page with figures that go down to single segments."""
