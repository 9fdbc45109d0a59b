//! Looks at all sockets of the network namespace: which connections there are, which of them are asked for, whose they are.

use probe::clock::mono_ns;
use probe::sockets::owners::obstacle;
use probe::sockets::selection::Match;
use probe::sockets::{ControlGroups, Detail, Diag, Owner, Owners, Selected, Socket, others};
use schema::message::Fault;
use schema::watch::{Instead, WatchSpec};
use session::Refusal;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::ops::RangeInclusive;

/// The files of the processes that are asked for are read anew after so long, although no socket is new: a process may be
/// given one that it did not open.
const FOLLOW_AGAIN_NS: u64 = 1_000_000_000;

/// The state that is kept of a connection from one look to the next.
#[derive(Debug, Clone, Copy)]
struct Glimpse {
    /// Bytes that it had moved in both directions; absent where it was not asked.
    moved_bytes: Option<u64>,
    /// The last look that did not find it; absent for those that the first look found.
    opened_after_ns: Option<u64>,
}

/// A connection that is asked for and not watched yet.
#[derive(Debug)]
pub struct Candidate {
    /// As it was seen.
    pub socket: Socket,
    /// Bytes that it has moved since the look before, in both directions; 0 where that is not known.
    pub moved_bytes: u64,
    /// When it was not there yet, if it opened after the first look.
    pub opened_after_ns: Option<u64>,
}

/// The findings of a look.
#[derive(Debug, Default)]
pub struct Found {
    /// Connections that are asked for and not watched yet, those that move most first.
    pub candidates: Vec<Candidate>,
    /// All connections.
    pub connections_count: u64,
    /// Those whose process would have to be known, and is not.
    pub unknown_owner_count: u64,
    /// Time that the look took, in ns.
    pub look_ns: u64,
}

/// Looks again and again.
pub struct Looker {
    diag: Diag,
    selected: Selected,
    owners: Owners,
    groups: ControlGroups,
    before: HashMap<u64, Glimpse>,
    /// When the look before began.
    looked_ns: Option<u64>,
    followed_ns: u64,
    /// Inodes that were there when processes were last looked at.
    inodes: HashSet<u32>,
    /// Ports on which somebody listens, and the inodes of these sockets.
    listening: HashSet<u16>,
    listeners: HashSet<u32>,
    ephemeral: Option<RangeInclusive<u16>>,
    /// The user of this process, where it may not read the files of other users' processes.
    only_user: Option<u32>,
}

impl Looker {
    /// Checks what is asked for, and opens what it takes to look.
    ///
    /// # Errors
    /// The selection makes no sense or names a process that cannot be watched here, or the kernel names no sockets.
    pub fn open(spec: &WatchSpec) -> Result<Self, Refusal> {
        let selected = Selected::new(&spec.selection).map_err(Refusal::usage)?;
        // A command that is over already has left what it has left.
        let asked = spec.selection.processes.iter().filter(|process| spec.ends_with_process != Some(**process));
        if let Some(text) = asked.copied().find_map(obstacle) {
            return Err(Refusal { fault: Fault::Host, text });
        }
        let diag = Diag::open().map_err(|error| no_sockets(&error))?;
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        let reads_all = fs::read_dir("/proc/1/fd").is_ok();
        Ok(Self {
            diag,
            owners: Owners::new(selected.wanted().clone()),
            selected,
            groups: ControlGroups::open(),
            before: HashMap::new(),
            looked_ns: None,
            followed_ns: 0,
            inodes: HashSet::new(),
            listening: HashSet::new(),
            listeners: HashSet::new(),
            ephemeral: port_range(&range),
            only_user: (!reads_all).then(|| nix::unistd::geteuid().as_raw()),
        })
    }

    /// True if the busiest connections are asked for.
    pub fn wants_busiest(&self) -> bool {
        self.selected.is_any()
    }

    /// True if a connection is one that is asked for by its ends, and the last look did not find it.
    pub fn has_missed(&self, socket: &Socket) -> bool {
        self.selected.has_ends() && self.selected.names(socket) && !self.before.contains_key(&socket.key.cookie)
    }

    /// The conversation with the kernel, for questions about single sockets.
    pub fn diag(&mut self) -> &mut Diag {
        &mut self.diag
    }

    /// Looks at all sockets. `has_counters` asks what each has moved, too; those for which `is_watched` holds by their
    /// number are no candidates.
    ///
    /// # Errors
    /// The kernel names no sockets.
    pub fn look(&mut self, has_counters: bool, is_watched: impl Fn(u64) -> bool) -> Result<Found, Refusal> {
        let started_ns = mono_ns();
        self.groups.begin_look();
        self.selected.update(&self.groups);
        let detail = if has_counters { Detail::Counters } else { Detail::Names };
        let Self { diag, selected, before, looked_ns, listening, listeners, .. } = self;
        let mut now = HashMap::with_capacity(before.len());
        let mut named = Vec::new();
        let wants_busiest = selected.is_any();
        listening.clear();
        listeners.clear();
        let dumped = diag.dump(detail, |socket| {
            if socket.state.is_listening() {
                listening.insert(socket.key.local.port());
                listeners.insert(socket.inode);
                return;
            }
            let earlier = before.get(&socket.key.cookie);
            let glimpse = Glimpse {
                moved_bytes: socket.info.map(|_| socket.moved_bytes()),
                opened_after_ns: earlier.map_or(*looked_ns, |earlier| earlier.opened_after_ns),
            };
            let moved_before = match earlier {
                Some(earlier) => earlier.moved_bytes,
                // What opened since then had moved nothing.
                None => looked_ns.map(|_| 0),
            };
            let moved_bytes = glimpse.moved_bytes.zip(moved_before).map_or(0, |(now, before)| now.saturating_sub(before));
            // A bucket that changes may be named twice.
            let is_first = now.insert(socket.key.cookie, glimpse).is_none();
            if is_first && !is_watched(socket.key.cookie) && (moved_bytes > 0 || !wants_busiest) && selected.names(&socket) {
                named.push(Candidate { socket, moved_bytes, opened_after_ns: glimpse.opened_after_ns });
            }
        });
        dumped.map_err(|error| no_sockets(&error))?;
        let connections_count = now.len() as u64;
        (self.before, self.looked_ns) = (now, Some(started_ns));
        self.follow(&named, started_ns);
        let mut found = Found { connections_count, ..Found::default() };
        for candidate in named {
            match self.selected.matches(&candidate.socket, &self.owners) {
                Match::Yes => found.candidates.push(candidate),
                Match::IfOwner => found.unknown_owner_count += u64::from(self.is_hidden(&candidate.socket)),
                Match::No => {}
            }
        }
        found.candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.moved_bytes));
        found.look_ns = mono_ns() - started_ns;
        Ok(found)
    }

    /// Looks for the holders of these sockets, where any process will do: of others they are known.
    pub fn find_owners(&mut self, inodes: &HashSet<u32>) {
        if self.selected.wanted().is_any() {
            self.owners.keep(inodes);
            self.owners.find(inodes);
        }
    }

    /// Who holds a socket, if that was found.
    pub fn owner(&self, inode: u32) -> Option<Owner> {
        Owner::of(self.owners.process_of(inode)?)
    }

    /// The path of a socket's control group, or otherwise that of the process that holds it; empty where neither is known.
    pub fn control_group(&mut self, socket: &Socket, owner: Option<&Owner>) -> String {
        let by_number = socket.control_group.and_then(|number| self.groups.path(number)).map(str::to_owned);
        by_number.or_else(|| owner.map(|owner| owner.control_group.clone())).unwrap_or_default()
    }

    /// True if this side accepted a connection, where that can be said.
    pub fn listens(&self, socket: &Socket) -> Option<bool> {
        let port = socket.key.local.port();
        if self.listening.contains(&port) {
            return Some(true);
        }
        self.ephemeral.as_ref().is_some_and(|range| range.contains(&port)).then_some(false)
    }

    /// True if all processes that were asked for by number have ended, and all that these have started. A program
    /// that is asked for by its name may start again.
    pub fn have_processes_ended(&mut self) -> bool {
        let wanted = self.selected.wanted();
        !wanted.processes.is_empty() && wanted.programs.is_empty() && !self.owners.is_any_left()
    }

    /// Counts what the processes that are asked for have instead of connections, if processes or programs are.
    pub fn instead(&mut self) -> Option<Instead> {
        if self.selected.wanted().is_any() {
            return None;
        }
        let (processes_count, inodes) = self.owners.sockets_of_followed();
        let listening = inodes.intersection(&self.listeners).count();
        Some(Instead {
            processes_count,
            udp_sockets_count: others::count(others::UDP, &inodes),
            unix_sockets_count: others::count(others::UNIX, &inodes),
            listening_sockets_count: u32::try_from(listening).unwrap_or(u32::MAX),
        })
    }

    /// Looks at the processes that are asked for, when a socket is new or the last time is long ago.
    fn follow(&mut self, named: &[Candidate], now_ns: u64) {
        if self.selected.wanted().is_any() || named.is_empty() {
            return;
        }
        let is_new = named.iter().any(|candidate| !self.inodes.contains(&candidate.socket.inode));
        if is_new || now_ns.saturating_sub(self.followed_ns) >= FOLLOW_AGAIN_NS {
            self.inodes = named.iter().map(|candidate| candidate.socket.inode).collect();
            self.owners.follow(&self.inodes);
            self.followed_ns = now_ns;
        }
    }

    /// True if a socket's process may be one that cannot be looked at.
    fn is_hidden(&self, socket: &Socket) -> bool {
        socket.inode != 0 && self.only_user.is_some_and(|user| socket.user != user)
    }
}

fn no_sockets(error: &io::Error) -> Refusal {
    Refusal { fault: Fault::Host, text: format!("the kernel does not list TCP sockets (sock_diag, module tcp_diag): {error}") }
}

/// The ports that the kernel chooses for connecting.
fn port_range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut ports = text.split_ascii_whitespace().map(str::parse);
    Some(ports.next()?.ok()?..=ports.next()?.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_ports_is_two_numbers() {
        assert_eq!(port_range("32768\t60999\n"), Some(32_768..=60_999));
        assert_eq!(port_range("32768"), None);
        assert_eq!(port_range(""), None);
    }
}
