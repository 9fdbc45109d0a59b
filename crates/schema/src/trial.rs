//! The request of one trial to one host: the transport, its factors, when to stop, what to look at.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::{Evidence, Programs, StagesLoan, StagesSpec};
use crate::schedule::ScheduledFlow;
use crate::table::word_enum;
use crate::workload::{DatagramStream, IoModel, Transport, Workload};

word_enum! {
    /// Which way the payload goes, seen from this end.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    Role {
        /// Writes payload.
        Sender = "sender",
        /// Reads payload.
        Receiver = "receiver",
    }
}

word_enum! {
    /// Part of a trial.
    Phase {
        /// Before the measurement.
        WarmUp = "warm-up",
        /// The measurement window.
        Measure = "measure",
        /// After it, still under load.
        CoolDown = "cool-down",
    }
}

/// Which end opens the connections. Independent of [`Role`]: the near host connects to the far
/// host in both directions of transfer, so that a host behind address translation can measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// Active open.
    Connect,
    /// Passive open.
    Listen,
}

/// The way that a receiver waits for data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadWait {
    /// In poll(2) before each read, as event-driven programs do.
    Poll,
    /// Inside the read call, as the studies' programs did.
    Block,
}

/// When the load of a trial ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum Stop {
    /// Each connection carries this much payload. The whole transfer is the measurement.
    Bytes {
        /// Payload of each connection in bytes.
        payload_bytes: u64,
    },
    /// The load runs through three phases of fixed length.
    Duration {
        /// Before the measurement, in ns.
        warmup_ns: u64,
        /// The measurement window, in ns.
        measure_ns: u64,
        /// After the measurement, in ns: keeps every connection loaded until all ends are past
        /// the window.
        cooldown_ns: u64,
    },
    /// The load ends when the workload has ended, all of whose transactions have a count or a time of
    /// their own (`Repeat::Trial` in none). All of it is the measurement.
    Workload,
}

/// Options of the data sockets, on hosts and on the model. `None` and `false` leave the host's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SocketSpec {
    /// Window in bytes: the receiver's buffer and window clamp, and the sender's buffer.
    pub window_bytes: Option<u32>,
    /// `SO_SNDBUF` in bytes at the sender; overrides the window's.
    pub send_buffer_bytes: Option<u32>,
    /// `SO_RCVBUF` in bytes at the receiver; overrides the window's.
    pub receive_buffer_bytes: Option<u32>,
    /// Nagle off: `TCP_NODELAY` (RFC 896, RFC 1122 4.2.3.4).
    pub no_delay: bool,
    /// No delayed ACK: `TCP_QUICKACK`, armed again after every read because the kernel drops it.
    pub quick_ack: bool,
    /// `TCP_CONGESTION`, set on the listener too so that accepted connections inherit it.
    pub congestion_control: Option<String>,
    /// `TCP_MAXSEG` in bytes.
    pub mss_bytes: Option<u32>,
    /// Numeric address that connecting sockets are bound to, with any port; the kernel's choice when absent.
    pub source_address: Option<String>,
    /// `SO_MAX_PACING_RATE` of each connection at the sender, in bytes a second.
    pub pacing_rate_bytes_per_second: Option<u64>,
    /// Partial segments wait for more: `TCP_CORK`, let go after every write operation.
    pub cork: bool,
    /// `SO_BUSY_POLL` in microseconds.
    pub busy_poll_us: Option<u32>,
    /// DSCP (RFC 2474) of all packets, 0 to 63.
    pub dscp: Option<u8>,
    /// Sends without copying: `MSG_ZEROCOPY`.
    pub zero_copy: bool,
    /// Receives without copying: `MSG_TRUNC` (tcp(7)), the payload is thrown away in the kernel.
    pub truncate: bool,
    /// Payload comes from a file in memory by `sendfile`(2), or through a pipe by `splice`(2).
    pub send_call: SendCall,
    /// Time stamps by the kernel (`SO_TIMESTAMPING`, software) in addition to the application's.
    pub kernel_timestamps: bool,
    /// Only this version of TLS; the highest that both hosts have when absent.
    pub tls_version: Option<TlsVersion>,
    /// Only this cipher; the first when absent.
    pub tls_cipher: Option<TlsCipher>,
    /// Most payload of a TLS record in bytes; 16,384 when absent.
    pub tls_record_bytes: Option<u32>,
    /// Which of the hosts' kernels encrypt and decrypt.
    pub ktls: KernelTls,
    /// Streams of an association in each direction (`SCTP_INITMSG`).
    pub sctp_streams: Option<u16>,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TlsVersion {
    /// RFC 5246.
    #[serde(rename = "1.2")]
    Tls12,
    /// RFC 8446.
    #[serde(rename = "1.3")]
    Tls13,
}

/// A cipher of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TlsCipher {
    /// AES in Galois/counter mode, key of 128 bits.
    #[serde(rename = "aes-128-gcm")]
    Aes128Gcm,
    /// The same, key of 256 bits.
    #[serde(rename = "aes-256-gcm")]
    Aes256Gcm,
    /// `ChaCha20` and Poly1305 (RFC 8439).
    #[serde(rename = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

/// Which of the hosts' kernels encrypt and decrypt (kTLS); the others' agents do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KernelTls {
    /// None.
    #[default]
    Off,
    /// The sender's.
    Tx,
    /// Both.
    Both,
}

/// The call that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendCall {
    /// send(2).
    #[default]
    Send,
    /// sendfile(2) from a file in memory.
    Sendfile,
    /// splice(2) from a pipe that was filled with vmsplice(2).
    Splice,
}

/// The transport that carries the requests of the round-trip probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeTransport {
    /// Datagrams that the far side answers.
    #[default]
    Udp,
    /// Echoes (RFC 792, RFC 4443) that the far host's kernel answers.
    Icmp,
}

/// One host's part of one trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialSpec {
    /// Name of the trial, unique in its experiment.
    pub trial: String,
    /// Label of this end in the record: `near` or `far`.
    pub host: String,
    /// Random token, 64 hexadecimal digits. A data connection that does not present it is dropped.
    pub token: String,
    /// Which way the payload goes.
    pub role: Role,
    /// Who opens the connections.
    pub opening: Opening,
    /// Numeric address the listening end binds; any address of the family when absent.
    pub listen_address: Option<String>,
    /// Port the listening end binds; 0 lets the kernel choose.
    pub listen_port: u16,
    /// Number of connections.
    pub connections_count: u32,
    /// Bytes a send call asks for.
    pub write_size_bytes: u32,
    /// Bytes a receive call asks for.
    pub read_size_bytes: u32,
    /// The way that the receiver waits for data.
    pub read_wait: ReadWait,
    /// Bytes the receiver answers after every `write_size_bytes`, which the sender waits for; 0: none,
    /// the payload is a stream.
    #[serde(default)]
    pub reply_size_bytes: u32,
    /// Rate at which the sender writes on each connection, in bits a second; 0: as fast as it can.
    #[serde(default)]
    pub write_rate_bps: u64,
    /// When the load ends.
    pub stop: Stop,
    /// Time between samples, in ns.
    pub interval_ns: u64,
    /// The load is cut this long after its start whatever happened, in ns.
    pub deadline_ns: u64,
    /// Options of the data sockets.
    pub socket: SocketSpec,
    /// CPUs the load's threads may run on; empty: any.
    pub pin_cpus: Vec<u32>,
    /// CPUs whose time counts as this end's; empty: all of the host.
    pub own_cpus: Vec<u32>,
    /// The closeness with which the kernel is watched; an end that cannot says so and goes on with less.
    #[serde(default)]
    pub evidence: Evidence,
    /// Stack samples of each own CPU in a second; absent: none are taken.
    #[serde(default)]
    pub profile_hz: Option<u32>,
    /// Which segments have stage times; absent: none have.
    #[serde(default)]
    pub stages: Option<StagesSpec>,
    /// The transport that carries the connections.
    #[serde(default)]
    pub transport: Transport,
    /// The way that threads wait for their connections.
    #[serde(default)]
    pub io_model: IoModel,
    /// Threads of an end where a few carry all connections; 0: one a CPU that it may use.
    #[serde(default)]
    pub threads_count: u32,
    /// The application's work, as the near side does it; absent: the stream that the sizes above
    /// describe. With a workload `connections_count` counts the users of all groups.
    #[serde(default)]
    pub workload: Option<Workload>,
    /// A stream of datagrams instead.
    #[serde(default)]
    pub datagrams: Option<DatagramStream>,
    /// When its connections carry payload, in the order of their numbers; empty: all through the whole load.
    #[serde(default)]
    pub schedule: Vec<ScheduledFlow>,
    /// Time between requests of the round-trip probe, in ns; absent: none is sent.
    #[serde(default)]
    pub round_trip_probe_ns: Option<u64>,
    /// The transport that carries them.
    #[serde(default)]
    pub round_trip_probe_by: ProbeTransport,
    /// Whose programs watch it.
    #[serde(default)]
    pub programs: Programs,
    /// The other side's programs for stage times, where it has lent some; a side that lends `programs` lends these, too.
    #[serde(default)]
    pub stages_loan: Option<StagesLoan>,
}
