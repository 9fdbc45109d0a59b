"""The kernel modules that a guest needs, in the order in which they can be loaded."""

import lzma
import re
from pathlib import Path

#: The testbed's devices, the guest's own way to us, congestion controls to compare ours with, queueing disciplines,
#: SCTP, TLS and its ciphers, the list of TCP sockets.
WANTED = (
    *("veth", "virtio_pci", "virtio_net"),
    *("tcp_scalable", "tcp_highspeed", "tcp_bic", "tcp_htcp"),
    *("sch_netem", "sch_tbf", "sch_codel", "sch_red"),
    *("sctp", "tls", "ctr", "ghash_generic", "gcm", "chacha_generic", "poly1305_generic", "chacha20poly1305"),
    "tcp_diag",
)


def modules(kernel: Path) -> dict[str, bytes]:
    """Modules by name with what they depend on before them; what the kernel has built in is left out."""
    files = {_name(path): path for path in kernel.glob("**/lib/modules/*/kernel/**/*.ko*")}
    found: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in found or name not in files:
            return
        path = files[name]
        data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        # The line of the section .modinfo; see modinfo(8).
        (depends,) = re.findall(rb"\0depends=([^\0]*)\0", data)
        for other in depends.decode().split(","):
            add(_normal(other))
        found[name] = data

    for name in WANTED:
        add(name)
    return found


def _name(path: Path) -> str:
    return _normal(path.name.split(".")[0])


def _normal(name: str) -> str:
    """File names may have dashes where the kernel says underscores."""
    return name.replace("-", "_")
