"""What everybody may ask of his own sockets (level 0), as differences of TCP_INFO samples."""

import polars as pl

from whyperf.analyze.flow.acks import AckRatio


def user_ack_ratio(tcp_info: pl.DataFrame, role: str) -> AckRatio:
    """The ACK ratio between each two samples, all connections together; see `acks.ack_ratio`.

    Segments without payload are taken for pure ACKs: SYN and FIN are too few to matter.
    """
    raise NotImplementedError(tcp_info, role)
