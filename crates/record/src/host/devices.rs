//! Rows of what network devices counted, and of how their offloads stand: table devices.

use probe::clock::mono_ns;
use probe::devices::{self, DeviceCounters};
use schema::table::DeviceRow;
use std::collections::BTreeMap;

use crate::table::{Columns, Rows};

/// The counts of the devices at the beginning.
#[derive(Debug)]
pub struct Devices {
    before: (u64, BTreeMap<String, DeviceCounters>),
}

impl Devices {
    /// Counts from now.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn open() -> anyhow::Result<Self> {
        Ok(Self { before: (mono_ns(), devices::sample()?) })
    }

    /// A row a device, from the beginning until now.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn table(&self, host: &str) -> anyhow::Result<Columns> {
        let mut rows = Rows::<DeviceRow<'_>>::new();
        let now = (mono_ns(), devices::sample()?);
        let (start_mono_ns, before) = &self.before;
        for (device, counters) in &now.1 {
            let offloads = devices::offloads(device);
            let counted = counters.since(&before.get(device).copied().unwrap_or_default());
            rows.push(DeviceRow {
                host,
                device,
                start_mono_ns: *start_mono_ns,
                end_mono_ns: now.0,
                tx_bytes: counted.tx_bytes,
                tx_packets: counted.tx_packets,
                tx_dropped_packets: counted.tx_dropped_packets,
                tx_errors_count: counted.tx_errors_count,
                rx_bytes: counted.rx_bytes,
                rx_packets: counted.rx_packets,
                rx_dropped_packets: counted.rx_dropped_packets,
                rx_errors_count: counted.rx_errors_count,
                tso: offloads.map(|offloads| offloads.tso),
                gso: offloads.map(|offloads| offloads.gso),
                gro: offloads.map(|offloads| offloads.gro),
            });
        }
        Ok(rows.into_columns())
    }
}
