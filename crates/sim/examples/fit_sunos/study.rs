//! Results that the study reports: throughputs in Mbit/s for user data of 8192 bytes, and the highest of all.

/// A configuration and its points.
pub struct Configuration {
    /// As a host.
    pub host: &'static str,
    /// Window in bytes and throughput in Mbit/s, without the chaotic point of driver 2.0 at 52428.
    pub points: &'static [(u32, f64)],
    /// Highest over all windows and sizes of user data.
    pub peak: f64,
}

/// Those of the slower machine.
pub const SPARC2: &[Configuration] = &[
    Configuration { host: "sparc2+sba-100@2.0", points: &[(4096, 12.0), (16384, 19.0), (32768, 21.0)], peak: 21.0 },
    Configuration { host: "sparc2+sba-100@2.2.6", points: &[(4096, 14.0), (16384, 22.0), (32768, 26.0), (52428, 25.0)], peak: 26.0 },
];

/// Those of the faster one.
pub const SPARC10: &[Configuration] = &[
    Configuration { host: "sparc10+sba-100@2.2.6", points: &[(4096, 16.0), (16384, 25.0), (32768, 28.0), (52428, 33.0)], peak: 34.0 },
    Configuration { host: "sparc10+sba-200@2.2.6", points: &[(4096, 21.0), (16384, 37.0), (32768, 44.0), (52428, 60.0)], peak: 62.0 },
];
