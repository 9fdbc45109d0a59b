"""Truth experiments around programs of others, which are watched in mid-life (`whyperf-lab truth --watch`).

`catalog` reads the cases of `watched.toml`, and `peer.py` is one of their programs. `grade` compares what the views of
a watch say with what was injected, and `page` prints the counts. The caller starts the programs and watches.
"""
