//! Where the connections of a trial go.
//!
//! One port takes as many connections from one host as the host has ports of its own to connect
//! from, by default 28 232 (`net.ipv4.ip_local_port_range`), and looking for a free one takes long
//! before they are used up. Beyond [`CONNECTIONS_A_PORT`] the listening host takes several ports, every
//! second one; both hosts compute how many from the number of connections, and by turns who goes where.

use super::CONDUCTOR;
use schema::trial::TrialSpec;
use schema::workload::{Group, Transport};
use socket2::{Domain, SockAddr};
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::fs::OpenOptions;
use std::hash::{Hash, Hasher};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Connections that go to one port.
const CONNECTIONS_A_PORT: u32 = 10_000;
/// Flows of datagrams that go to one port: before Linux 6.13 the kernel looks through all of a port's
/// sockets for each datagram.
const FLOWS_A_PORT: u32 = 32;
/// Ports of datagrams at most: as many for 200,000 users with one flow each.
const MAX_PORTS_OF_FLOWS: u64 = 6250;

/// Where folders of sockets are, how their names begin, and the name of a socket in its folder.
pub(super) const FOLDERS: &str = "/tmp";
pub(super) const PREFIX: &str = "whyperf-";
pub(super) const NAME: &str = "socket";

/// From one port to the next. The kernel gives listeners one half of its ports, by parity, and
/// connections the other; a few thousand connections that linger in TIME-WAIT would leave no row of
/// neighbors free.
const DISTANCE: u16 = 2;

/// The last of so many ports; absent when there is none.
pub(super) fn last_port(first: u16, count: u16) -> Option<u16> {
    first.checked_add(DISTANCE.checked_mul(count.saturating_sub(1))?)
}

/// Where the listening host is.
#[derive(Debug, Clone)]
pub enum ListenPlace {
    /// At every second port of an address, from one on.
    Ports {
        /// Address.
        ip: IpAddr,
        /// First port.
        first: u16,
        /// Number of ports.
        count: u16,
    },
    /// At a file of this host.
    File(PathBuf),
    /// The same, found by what this host holds of it: nothing need stay in a folder while a load runs.
    Held {
        /// Its name while it is held.
        address: SockAddr,
        /// Opened without reading or writing (`O_PATH`, open(2)).
        _file: Arc<OwnedFd>,
        /// Where it was.
        path: PathBuf,
    },
}

impl ListenPlace {
    /// The place of a trial whose listening host is at this address.
    pub fn of(spec: &TrialSpec, address: SocketAddr) -> Self {
        match spec.transport {
            Transport::Unix => Self::File(file_of(&spec.token)),
            _ => Self::Ports { ip: address.ip(), first: address.port(), count: ports_count(spec) },
        }
    }

    /// Where the connecting host listens over Unix sockets, if it has to.
    pub(super) fn back_of(spec: &TrialSpec) -> Self {
        Self::File(file_of(&back_token(spec)))
    }

    /// Where either host of a trial over Unix sockets listens.
    pub(super) fn files_of(spec: &TrialSpec) -> [PathBuf; 2] {
        [file_of(&spec.token), file_of(&back_token(spec))]
    }

    /// The same place, which stays reachable when its file has gone: connect(2) takes the socket that a
    /// descriptor stands for.
    ///
    /// # Errors
    /// There is no such file.
    pub(super) fn held(self) -> io::Result<Self> {
        match self {
            Self::File(path) => {
                let file = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC).open(&path)?;
                let address = SockAddr::unix(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
                Ok(Self::Held { address, _file: Arc::new(file.into()), path })
            }
            other => Ok(other),
        }
    }

    /// The file it is at.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::Ports { .. } => None,
            Self::File(path) | Self::Held { path, .. } => Some(path),
        }
    }

    /// The first port; 0 where there are none.
    pub(super) fn first_port(&self) -> u16 {
        match self {
            Self::Ports { first, .. } => *first,
            Self::File(_) | Self::Held { .. } => 0,
        }
    }

    /// Where a connection goes; with a workload the user's number decides, be it connected early or
    /// late. The conductor's goes to the first port.
    ///
    /// # Errors
    /// The file's name is too long for a socket.
    pub fn address_of(&self, number: u32) -> io::Result<SockAddr> {
        match self {
            Self::Ports { ip, first, count } => {
                let behind = if number == CONDUCTOR { 0 } else { number % u32::from(*count) };
                let port = first.wrapping_add(DISTANCE * u16::try_from(behind).unwrap_or(0));
                Ok(SocketAddr::new(*ip, port).into())
            }
            Self::File(path) => SockAddr::unix(path),
            Self::Held { address, .. } => Ok(address.clone()),
        }
    }

    /// The address of a UDP port of its own, so many behind the first; none where there are no ports.
    pub(super) fn udp_neighbor(&self, behind: u16) -> Option<SocketAddr> {
        match self {
            Self::Ports { ip, first, .. } => Some(SocketAddr::new(*ip, last_port(*first, behind.checked_add(1)?)?)),
            Self::File(_) | Self::Held { .. } => None,
        }
    }

    /// Family of its addresses.
    pub fn domain(&self) -> Domain {
        match self {
            Self::Ports { ip, .. } => Domain::for_address(SocketAddr::new(*ip, 0)),
            Self::File(_) | Self::Held { .. } => Domain::UNIX,
        }
    }

    /// Number of ports.
    pub fn ports_count(&self) -> u16 {
        match self {
            Self::Ports { count, .. } => *count,
            Self::File(_) | Self::Held { .. } => 1,
        }
    }
}

impl fmt::Display for ListenPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ports { ip, first, count: 1 } => SocketAddr::new(*ip, *first).fmt(formatter),
            Self::Ports { ip, first, count } => {
                write!(formatter, "{}-{}", SocketAddr::new(*ip, *first), last_port(*first, *count).unwrap_or(u16::MAX))
            }
            Self::File(path) | Self::Held { path, .. } => path.display().fmt(formatter),
        }
    }
}

/// Ports that the listening host takes.
fn ports_count(spec: &TrialSpec) -> u16 {
    let ports_count = match spec.transport {
        Transport::Udp => flows_count(spec).div_ceil(u64::from(FLOWS_A_PORT)).min(MAX_PORTS_OF_FLOWS),
        _ => u64::from(spec.connections_count.div_ceil(CONNECTIONS_A_PORT)),
    };
    u16::try_from(ports_count).unwrap_or(u16::MAX).max(1)
}

/// Flows of datagrams that may be open at the same time.
fn flows_count(spec: &TrialSpec) -> u64 {
    let Some(workload) = &spec.workload else { return u64::from(spec.connections_count) };
    let of_group = |group: &Group| {
        let steps = group.transactions.iter().flat_map(|transaction| &transaction.steps);
        let most = steps.filter_map(|step| step.operation.connection()).max().unwrap_or(0);
        u64::from(group.strands_count) * (u64::from(most) + 1)
    };
    workload.groups.iter().map(of_group).sum()
}

fn back_token(spec: &TrialSpec) -> String {
    format!("back to {}", spec.token)
}

/// The file that both hosts derive from the token; its name does not reveal the token.
fn file_of(token: &str) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    token.hash(&mut hasher);
    Path::new(FOLDERS).join(format!("{PREFIX}{:016x}", hasher.finish())).join(NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::net::Ipv4Addr;

    #[test]
    fn connections_spread_evenly_over_the_ports() {
        let place = ListenPlace::Ports { ip: Ipv4Addr::LOCALHOST.into(), first: 40_000, count: 3 };
        let mut ports = BTreeMap::new();
        for number in 0..30 {
            let address = place.address_of(number).expect("address").as_socket().expect("address");
            *ports.entry(address.port()).or_insert(0) += 1;
        }
        assert_eq!(ports, BTreeMap::from([(40_000, 10), (40_002, 10), (40_004, 10)]));
        assert_eq!(place.to_string(), "127.0.0.1:40000-40004");
    }

    #[test]
    fn the_file_differs_by_token_and_fits_a_socket() {
        let (a, b) = (file_of(&"5a".repeat(32)), file_of(&"5b".repeat(32)));
        assert_ne!(a, b);
        assert!(ListenPlace::File(a).address_of(0).is_ok());
    }

    #[test]
    fn a_socket_that_is_held_is_reached_when_its_file_has_gone() {
        let path = std::env::temp_dir().join(format!("whyperf-held-{}", std::process::id()));
        let listener = std::os::unix::net::UnixListener::bind(&path).expect("binds");
        let held = ListenPlace::File(path.clone()).held().expect("is there");
        std::fs::remove_file(&path).expect("is there");
        let socket = socket2::Socket::new(held.domain(), socket2::Type::STREAM, None).expect("a socket");
        socket.connect(&held.address_of(0).expect("address")).expect("connects");
        assert!(listener.accept().is_ok());
        assert!(ListenPlace::File(path).held().is_err());
    }
}
