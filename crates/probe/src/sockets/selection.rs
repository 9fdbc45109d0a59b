//! Which connections are asked for.

use schema::watch::{Endpoints, Selection};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use super::control_groups::ControlGroups;
use super::message::Socket;
use super::owners::{Owners, Wanted};

/// A selection that was checked.
#[derive(Debug)]
pub struct Selected {
    ports: BTreeSet<u16>,
    addresses: BTreeSet<IpAddr>,
    connections: BTreeSet<[SocketAddr; 2]>,
    /// In both orders: both sides exclude the same connection.
    excluded: BTreeSet<[SocketAddr; 2]>,
    control_groups: Vec<String>,
    /// Numbers of these and of those inside them, as they were last looked at.
    group_numbers: BTreeSet<u64>,
    wanted: Wanted,
}

/// The answer to whether a connection is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// It is, if the process that holds it is; that is not known.
    IfOwner,
}

impl Selected {
    /// Checks a selection.
    ///
    /// # Errors
    /// An address is none, in a sentence.
    pub fn new(selection: &Selection) -> Result<Self, String> {
        let address = |text: &String| text.parse().map(|address: IpAddr| address.to_canonical());
        let addresses = selection.addresses.iter().map(|text| address(text).map_err(|_| format!("\"{text}\" is not a numeric address")));
        let end = |text: &String| {
            let end: SocketAddr = text.parse().map_err(|_| format!("\"{text}\" is not a numeric address with a port"))?;
            Ok::<_, String>(SocketAddr::new(end.ip().to_canonical(), end.port()))
        };
        let both = |ends: &Endpoints| Ok::<_, String>([end(&ends.local)?, end(&ends.remote)?]);
        let excluded = selection.excluded.iter().map(both).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            ports: selection.ports.iter().copied().collect(),
            addresses: addresses.collect::<Result<_, _>>()?,
            connections: selection.connections.iter().map(both).collect::<Result<_, _>>()?,
            excluded: excluded.into_iter().flat_map(|[local, remote]| [[local, remote], [remote, local]]).collect(),
            control_groups: selection.control_groups.clone(),
            group_numbers: BTreeSet::new(),
            wanted: Wanted { processes: selection.processes.clone(), programs: selection.programs.clone() },
        })
    }

    /// True if nothing is asked for in particular: the busiest connections are.
    pub fn is_any(&self) -> bool {
        !self.has_ends() && self.control_groups.is_empty() && self.wanted.is_any()
    }

    /// The processes that are asked for.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Looks which groups there are now.
    pub fn update(&mut self, groups: &ControlGroups) {
        self.group_numbers = self.control_groups.iter().flat_map(|path| groups.numbers_below(path)).collect();
    }

    /// Judges whether a connection is asked for, by all that is known of it.
    pub fn matches(&self, socket: &Socket, owners: &Owners) -> Match {
        if !self.names(socket) {
            return Match::No;
        }
        if self.wanted.is_any() || owners.process_of(socket.inode).is_some() {
            return Match::Yes;
        }
        Match::IfOwner
    }

    /// True if a connection is asked for, as far as no process is: by its ends and its control group.
    pub fn names(&self, socket: &Socket) -> bool {
        let ends = socket.key.ends();
        if self.excluded.contains(&ends) {
            return false;
        }
        let has_port = self.ports.is_empty() || ends.iter().any(|end| self.ports.contains(&end.port()));
        let has_address = self.addresses.is_empty() || ends.iter().any(|end| self.addresses.contains(&end.ip()));
        let is_listed = self.connections.is_empty() || self.connections.contains(&ends);
        let has_group = self.control_groups.is_empty() || socket.control_group.is_some_and(|group| self.group_numbers.contains(&group));
        has_port && has_address && is_listed && has_group
    }

    /// True if ends are asked for: ports, addresses or whole connections.
    pub fn has_ends(&self) -> bool {
        !(self.ports.is_empty() && self.addresses.is_empty() && self.connections.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockets::{SocketKey, SocketState};

    fn socket(local: &str, remote: &str) -> Socket {
        let end = |text: &str| text.parse().expect("an address");
        Socket {
            key: SocketKey { local: end(local), remote: end(remote), interface: 0, cookie: 1 },
            state: SocketState(1),
            receive_queue_bytes: 0,
            send_queue_bytes: 0,
            user: 0,
            inode: 7,
            info: None,
            memory: None,
            congestion_control: None,
            control_group: None,
        }
    }

    fn selected(selection: &Selection) -> Selected {
        Selected::new(selection).expect("a selection")
    }

    #[test]
    fn what_carries_the_watch_is_never_watched() {
        let ends = Endpoints { local: "10.0.0.2:22".to_owned(), remote: "[::ffff:10.0.0.1]:50000".to_owned() };
        let any = selected(&Selection { excluded: vec![ends], ..Selection::default() });
        assert!(any.is_any());
        assert!(!any.names(&socket("10.0.0.1:50000", "10.0.0.2:22")));
        assert!(!any.names(&socket("10.0.0.2:22", "10.0.0.1:50000")));
        assert!(any.names(&socket("10.0.0.1:50001", "10.0.0.2:22")));
    }

    #[test]
    fn every_list_that_is_not_empty_must_hold_by_one_of_its_entries() {
        let web = socket("10.0.0.1:50000", "10.0.0.2:443");
        let (ports, addresses) = (vec![80, 443], vec!["10.0.0.9".to_owned()]);
        assert!(selected(&Selection::default()).is_any());
        assert!(selected(&Selection { ports: ports.clone(), ..Selection::default() }).names(&web));
        assert!(!selected(&Selection { ports: vec![80], ..Selection::default() }).names(&web));
        assert!(!selected(&Selection { ports, addresses, ..Selection::default() }).names(&web));
    }

    #[test]
    fn an_address_of_ipv4_is_also_the_mapped_one() {
        let mapped = socket("[::ffff:10.0.0.1]:443", "[::ffff:10.0.0.2]:50000");
        let of = |address: &str| selected(&Selection { addresses: vec![address.to_owned()], ..Selection::default() });
        assert!(of("10.0.0.2").names(&mapped) && of("::ffff:10.0.0.2").names(&mapped));
        assert!(!of("10.0.0.3").names(&mapped));
        let ends = Endpoints { local: "10.0.0.1:443".to_owned(), remote: "[::ffff:10.0.0.2]:50000".to_owned() };
        let listed = selected(&Selection { connections: vec![ends], ..Selection::default() });
        assert!(listed.names(&mapped));
        assert!(!listed.names(&socket("10.0.0.2:50000", "10.0.0.1:443")), "the other side's is another socket");
    }

    #[test]
    fn what_a_process_holds_is_not_known_before_it_was_found() {
        let named = selected(&Selection { processes: vec![1], ..Selection::default() });
        assert!(!named.is_any());
        assert_eq!(named.matches(&socket("10.0.0.1:1", "10.0.0.2:2"), &Owners::default()), Match::IfOwner);
    }

    #[test]
    fn what_is_no_address_is_refused_in_a_sentence() {
        let refused = |selection: Selection| Selected::new(&selection).expect_err("refused");
        let name = Selection { addresses: vec!["example.org".to_owned()], ..Selection::default() };
        assert_eq!(refused(name), "\"example.org\" is not a numeric address");
        let ends = Endpoints { local: "10.0.0.1".to_owned(), remote: "10.0.0.2:1".to_owned() };
        let listed = Selection { connections: vec![ends], ..Selection::default() };
        assert_eq!(refused(listed), "\"10.0.0.1\" is not a numeric address with a port");
    }

    #[test]
    fn a_control_group_that_is_not_there_has_no_connection() {
        let mut named = selected(&Selection { control_groups: vec!["/no/such".to_owned()], ..Selection::default() });
        named.update(&ControlGroups::open());
        assert!(!named.names(&Socket { control_group: Some(1), ..socket("10.0.0.1:1", "10.0.0.2:2") }));
    }
}
