//! The tables of one end of trials on the model.

use schema::table::{
    CallRow, CpuRow, FlowRow, HostCounterRow, IntervalRow, LatencyRow, PathRow, Row, Simulated, StageRow, TcpInfoRow, TransactionRow,
};

use crate::table::{Columns, Rows};

/// All but its log of segments.
pub struct Tables {
    pub flows: Rows<FlowRow<'static, Simulated>>,
    pub intervals: Rows<IntervalRow<'static, Simulated>>,
    pub tcp_info: Rows<TcpInfoRow<'static, Simulated>>,
    pub cpu: Rows<CpuRow<'static, Simulated>>,
    pub transactions: Rows<TransactionRow<'static, Simulated>>,
    pub latencies: Rows<LatencyRow<'static, Simulated>>,
    pub calls: Rows<CallRow<'static, Simulated>>,
    pub host_counters: Rows<HostCounterRow<'static, Simulated>>,
    pub path: Rows<PathRow<'static, Simulated>>,
    pub stages: Rows<StageRow<'static>>,
}

impl Tables {
    /// Empty tables; of several trials, whose names stand in a column of their own.
    pub fn new(is_of_several: bool) -> Self {
        fn rows<R: Row>(is_of_several: bool) -> Rows<R> {
            if is_of_several { Rows::of_several() } else { Rows::new() }
        }
        Self {
            flows: rows(is_of_several),
            intervals: rows(is_of_several),
            tcp_info: rows(is_of_several),
            cpu: rows(is_of_several),
            transactions: rows(is_of_several),
            latencies: rows(is_of_several),
            calls: rows(is_of_several),
            host_counters: rows(is_of_several),
            path: rows(is_of_several),
            stages: rows(is_of_several),
        }
    }

    /// All of them.
    pub fn into_columns(self) -> [Columns; 10] {
        [
            self.flows.into_columns(),
            self.intervals.into_columns(),
            self.tcp_info.into_columns(),
            self.cpu.into_columns(),
            self.transactions.into_columns(),
            self.latencies.into_columns(),
            self.calls.into_columns(),
            self.host_counters.into_columns(),
            self.path.into_columns(),
            self.stages.into_columns(),
        ]
    }
}
