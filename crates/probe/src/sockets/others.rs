//! Sockets that are no TCP connections, by the kernel's lists of this network namespace (proc(5)).

use std::collections::HashSet;
use std::fs;

/// A list of sockets below `/proc/thread-self/net`, and the column that has the inode.
#[derive(Debug, Clone, Copy)]
pub struct List {
    files: &'static [&'static str],
    inode_column: usize,
}

/// UDP over IPv4 and IPv6.
pub const UDP: List = List { files: &["udp", "udp6"], inode_column: 9 };
/// Unix sockets.
pub const UNIX: List = List { files: &["unix"], inode_column: 6 };

/// Number of these inodes that are in a list.
pub fn count(list: List, inodes: &HashSet<u32, impl std::hash::BuildHasher>) -> u32 {
    let texts = list.files.iter().filter_map(|file| fs::read(format!("/proc/thread-self/net/{file}")).ok());
    // A Unix socket may have a name of any bytes.
    texts.map(|text| count_in(&String::from_utf8_lossy(&text), list.inode_column, inodes)).sum()
}

fn count_in(text: &str, inode_column: usize, inodes: &HashSet<u32, impl std::hash::BuildHasher>) -> u32 {
    let found = text.lines().skip(1).filter(|line| {
        let inode = line.split_ascii_whitespace().nth(inode_column).and_then(|inode| inode.parse().ok());
        inode.is_some_and(|inode| inodes.contains(&inode))
    });
    u32::try_from(found.count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
 1146: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 21345 2 0000000000000000 0
 1147: 3500007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 99 2 0000000000000000 0
";
    const UNIX_LINES: &str = "\
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 21345 /run/a socket
0000000000000000: 00000003 00000000 00000000 0001 03 21346
";

    #[test]
    fn inodes_are_found_in_their_column() {
        let inodes = HashSet::from([21_345, 21_346]);
        assert_eq!(count_in(LINES, UDP.inode_column, &inodes), 1);
        assert_eq!(count_in(UNIX_LINES, UNIX.inode_column, &inodes), 2);
        assert_eq!(count_in("", UNIX.inode_column, &inodes), 0);
    }
}
