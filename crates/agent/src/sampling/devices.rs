//! Rows of what network devices counted, and of how their offloads stand: table devices.

use probe::clock::mono_ns;
use probe::devices::{self, DeviceCounters};
use schema::table::DEVICES;
use schema::trial::TrialSpec;
use std::collections::BTreeMap;

use crate::record::TableBuilder;

/// What the devices had counted at the beginning.
#[derive(Debug)]
pub(super) struct Devices {
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
    /// `/proc` cannot be read, or a row does not fit its table.
    pub fn table(&self, spec: &TrialSpec) -> anyhow::Result<TableBuilder> {
        let mut rows = TableBuilder::new(&DEVICES);
        let now = (mono_ns(), devices::sample()?);
        let (start_mono_ns, before) = &self.before;
        for (device, counters) in &now.1 {
            let offloads = devices::offloads(device);
            let counted = counters.since(&before.get(device).copied().unwrap_or_default());
            rows.push(vec![
                spec.host.as_str().into(),
                device.as_str().into(),
                (*start_mono_ns).into(),
                now.0.into(),
                counted.tx_bytes.into(),
                counted.tx_packets.into(),
                counted.tx_dropped_packets.into(),
                counted.tx_errors_count.into(),
                counted.rx_bytes.into(),
                counted.rx_packets.into(),
                counted.rx_dropped_packets.into(),
                counted.rx_errors_count.into(),
                offloads.map(|offloads| offloads.tso).into(),
                offloads.map(|offloads| offloads.gso).into(),
                offloads.map(|offloads| offloads.gro).into(),
            ])?;
        }
        Ok(rows)
    }
}
