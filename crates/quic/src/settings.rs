//! Settings of a connection before it opens.

use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{IdleTimeout, TransportConfig, VarInt};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Congestion controls of the engine.
pub const CONTROLLERS: [&str; 3] = ["cubic", "newreno", "bbr"];
/// Receive window where none is asked for, in bytes: what 1 Gbit/s has under way in half a second.
const AMPLE_BYTES: u32 = 64 << 20;
/// Silence after which the other host is taken for gone (RFC 9000 section 10.1).
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval at which a connection that has nothing to say is kept from being idle.
const KEEP_ALIVE: Duration = Duration::from_secs(2);

/// Datagrams that wait for their reader: what does not fit drives out the oldest.
const DATAGRAMS_RECEIVED_BYTES: usize = 16 << 20;
/// Datagrams that wait for the congestion window: few, for they get old there.
const DATAGRAMS_UNSENT_BYTES: usize = 256 << 10;

/// Settings of a connection; what is absent is the engine's choice.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Congestion control, one of [`CONTROLLERS`].
    pub controller: Option<String>,
    /// Most payload that this host lets the other have under way, in bytes.
    pub receive_window_bytes: Option<u32>,
    /// Most payload that is kept until it is acknowledged, in bytes; absent: twice the congestion window.
    pub send_window_bytes: Option<u32>,
    /// True if datagrams (RFC 9221) may come.
    pub takes_datagrams: bool,
}

impl Settings {
    /// For packets of this most payload in bytes.
    pub(crate) fn transport(&self, packet_bytes: u16) -> io::Result<TransportConfig> {
        let mut transport = TransportConfig::default();
        let controller: Arc<dyn ControllerFactory + Send + Sync> = match self.controller.as_deref() {
            None | Some("cubic") => Arc::new(CubicConfig::default()),
            Some("newreno") => Arc::new(NewRenoConfig::default()),
            Some("bbr") => Arc::new(BbrConfig::default()),
            Some(other) => {
                let text = format!("quic has no congestion control \"{other}\"; it has {}", CONTROLLERS.join(", "));
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        };
        let window = VarInt::from_u32(self.receive_window_bytes.unwrap_or(AMPLE_BYTES));
        let idle = IdleTimeout::try_from(IDLE_TIMEOUT).map_err(io::Error::other)?;
        transport
            .congestion_controller_factory(controller)
            .stream_receive_window(window)
            .receive_window(window)
            .max_idle_timeout(Some(idle))
            .keep_alive_interval(Some(KEEP_ALIVE))
            // The kernel has the path's MTU: there is nothing to search for.
            .initial_mtu(packet_bytes)
            .mtu_discovery_config(None)
            .datagram_receive_buffer_size(self.takes_datagrams.then_some(DATAGRAMS_RECEIVED_BYTES))
            .datagram_send_buffer_size(DATAGRAMS_UNSENT_BYTES);
        if let Some(bytes) = self.send_window_bytes {
            transport.send_window(u64::from(bytes));
        }
        Ok(transport)
    }
}
