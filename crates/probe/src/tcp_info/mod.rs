//! Samples of `TCP_INFO`: the kernel's own view of a connection. Evidence level 0, no privilege.
//!
//! Cost: one system call of about 1 µs a connection and sample; it takes the socket's lock.
//! Columns: [`schema::table::TCP_INFO`].

mod layout;

pub use layout::{RawTcpInfo, TcpInfo};

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn counts_of_a_real_connection_stand_in_the_right_fields() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
        let mut sender = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        let (mut receiver, _) = listener.accept().expect("accept");
        sender.write_all(&[7; 5_000]).expect("write");
        let mut buffer = [0; 5_000];
        receiver.read_exact(&mut buffer).expect("read");

        let at_receiver = TcpInfo::read(receiver.as_fd()).expect("TCP_INFO");
        assert_eq!(at_receiver.raw.state, 1, "established");
        assert_eq!(at_receiver.raw.bytes_received, 5_000);
        assert!(at_receiver.raw.data_segs_in >= 1);
        let at_sender = TcpInfo::read(sender.as_fd()).expect("TCP_INFO");
        assert_eq!(at_sender.bytes_sent(), Some(5_000));
        assert_eq!(at_sender.bytes_retransmitted(), Some(0));
        // What the sender last heard of the receiver's window is what the receiver last said,
        // or what it said before the read made room.
        assert!(at_sender.peer_window_bytes().is_some_and(|window| window > 5_000));
    }
}
