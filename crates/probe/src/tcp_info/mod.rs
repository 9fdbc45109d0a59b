//! Samples of `TCP_INFO`: the kernel's own view of a connection. Evidence level 0, no privilege.
//!
//! Cost: one system call of about 1 µs a connection and sample; it takes the socket's lock.
//! Columns: [`schema::table::TCP_INFO`].

mod layout;

pub use layout::{RawTcpInfo, TcpInfo};
use schema::table::Value;

const NS_PER_US: u64 = 1_000;

/// A sample's place in the record.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// End: `near` or `far`.
    pub host: &'a str,
    /// Number of the connection.
    pub connection: u32,
    /// `sender` or `receiver`.
    pub role: &'static str,
    /// Phase.
    pub phase: &'static str,
    /// CLOCK_MONOTONIC in ns.
    pub sample_mono_ns: u64,
    /// Whether it is the connection's last.
    pub is_final: bool,
}

/// One row of the table.
pub fn row(sample: &Sample<'_>, info: &TcpInfo) -> Vec<Value> {
    let raw = &info.raw;
    let ns = |microseconds: u32| Value::U64(u64::from(microseconds) * NS_PER_US);
    vec![
        sample.host.into(),
        sample.connection.into(),
        sample.role.into(),
        sample.phase.into(),
        sample.sample_mono_ns.into(),
        sample.is_final.into(),
        u32::from(raw.state).into(),
        u32::from(raw.ca_state).into(),
        ns(raw.rto),
        ns(raw.ato),
        raw.snd_mss.into(),
        raw.rcv_mss.into(),
        raw.unacked.into(),
        raw.lost.into(),
        ns(raw.rtt),
        ns(raw.rttvar),
        ns(raw.min_rtt),
        raw.snd_ssthresh.into(),
        raw.snd_cwnd.into(),
        raw.pmtu.into(),
        raw.reordering.into(),
        ns(raw.rcv_rtt),
        raw.rcv_space.into(),
        raw.total_retrans.into(),
        raw.pacing_rate.into(),
        raw.bytes_acked.into(),
        raw.bytes_received.into(),
        u64::from(raw.segs_out).into(),
        u64::from(raw.segs_in).into(),
        u64::from(raw.data_segs_out).into(),
        u64::from(raw.data_segs_in).into(),
        raw.notsent_bytes.into(),
        raw.delivery_rate.into(),
        (raw.busy_time * NS_PER_US).into(),
        (raw.rwnd_limited * NS_PER_US).into(),
        (raw.sndbuf_limited * NS_PER_US).into(),
        info.bytes_sent().into(),
        info.bytes_retransmitted().into(),
        info.out_of_order_segments().into(),
        info.peer_window_bytes().into(),
        info.own_window_bytes().into(),
        info.has_ecn().into(),
        info.delivered_segments().into(),
        info.delivered_marked_segments().into(),
        info.duplicate_sacks().into(),
        info.reordering_events().into(),
        info.is_application_limited().into(),
    ]
}

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
        let sample = Sample { host: "near", connection: 0, role: "sender", phase: "measure", sample_mono_ns: 1, is_final: true };
        assert_eq!(row(&sample, &at_sender).len(), schema::table::TCP_INFO.columns.len());
    }
}
