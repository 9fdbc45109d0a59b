//! TCP sockets of this network namespace, of all programs: what `sock_diag(7)` says of them, whose they are, and which of
//! them are asked for. Evidence level 0: no privilege is needed for addresses, queues, memory and `TCP_INFO`; the process of
//! a socket is known where its `/proc/<pid>/fd` may be read, which is that of the same user.
//!
//! - [`diag`]: dumps of all sockets, questions about single ones, and news of those that close.
//! - [`owners`]: processes by the inodes of their sockets. [`control_groups`]: their paths by number.
//! - [`selection`]: [`schema::watch::Selection`], applied.
//!
//! Nothing is attached to a socket and no option is set or read through its file descriptor. Cost: a dump takes 1 to 2 µs a
//! socket, a question about one socket about 3 µs. Columns: [`schema::table::WATCHED`], [`schema::table::SOCKETS`].
//!
//! Not seen: whether a program has set `SO_SNDBUF` or `SO_RCVBUF` (`sk_userlocks`) or `TCP_NODELAY`. `INET_DIAG_SOCKOPT`
//! holds other options (`struct inet_diag_sockopt`), and `SO_BUF_LOCK` is answered only through the socket's own file
//! descriptor, which is another process's. With privilege, [`settings`] says it.

pub mod control_groups;
pub mod diag;
mod message;
pub mod others;
pub mod owners;
pub mod selection;
pub mod settings;

pub use control_groups::ControlGroups;
pub use diag::{Closings, Detail, Diag};
pub use message::{Memory, Socket, SocketKey, SocketState, sockets_in};
pub use owners::{Owner, Owners};
pub use selection::Selected;
