//! Rows as they come back out of their files, by the names of the columns.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use probe::evidence::Record;
use record::host::logs;
use record::{Columns, Log, Rows};
use schema::table::{IntervalRow, SEGMENTS, SegmentRow, Simulated};
use schema::trial::{Phase, Role};
use std::fs::File;
use std::io::{Seek, Write};

/// The only batch of a file.
fn batch(file: File) -> RecordBatch {
    let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").build().expect("Parquet");
    reader.next().expect("a batch").expect("Parquet")
}

fn written(columns: Columns) -> RecordBatch {
    let path = std::env::temp_dir().join(format!("whyperf-record-{}-{:?}", std::process::id(), std::thread::current().id()));
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path).expect("a temporary file");
    std::fs::remove_file(path).expect("a temporary file");
    file.write_all(&columns.finish().expect("Parquet")).expect("room");
    file.rewind().expect("a file");
    batch(file)
}

/// The first value of a column, or "null".
fn shown(batch: &RecordBatch, name: &str) -> String {
    let column = batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name}"));
    if column.is_null(0) {
        return "null".to_owned();
    }
    match column.data_type() {
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(0).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(0).to_string(),
        DataType::Boolean => column.as_boolean().value(0).to_string(),
        DataType::Utf8 => column.as_string::<i32>().value(0).to_owned(),
        DataType::Dictionary(..) => {
            let codes = column.as_dictionary::<arrow_array::types::UInt8Type>();
            codes.values().as_string::<i32>().value(codes.keys().value(0).into()).to_owned()
        }
        other => panic!("{name} is of {other}"),
    }
}

#[test]
fn a_row_and_what_its_columns_mean_survive_the_file() {
    let mut rows = Rows::<IntervalRow<'_>>::new();
    rows.push(IntervalRow {
        payload_bytes: 77,
        calls_count: 3,
        host: "near",
        connection: 5,
        role: Role::Receiver,
        interval: 4,
        phase: Phase::Measure,
        start_mono_ns: 1,
        end_mono_ns: 2,
    });
    let batch = written(rows.into_columns());
    let wanted = [("host", "near"), ("connection", "5"), ("role", "receiver"), ("interval", "4"), ("phase", "measure")];
    let numbers = [("start_mono_ns", "1"), ("end_mono_ns", "2"), ("payload_bytes", "77"), ("calls_count", "3")];
    for (name, value) in wanted.into_iter().chain(numbers) {
        assert_eq!(shown(&batch, name), value, "{name}");
    }
    let field = batch.schema().field_with_name("payload_bytes").expect("a column").clone();
    assert_eq!((field.metadata()["unit"].as_str(), field.is_nullable()), ("bytes", false));
}

#[test]
fn a_row_of_the_model_has_the_columns_that_it_names_and_its_trial() {
    let mut rows = Rows::<IntervalRow<'_, Simulated>>::of_several();
    rows.push_of("seventh", IntervalRow { payload_bytes: Some(7), ..IntervalRow::default() });
    let batch = written(rows.into_columns());
    assert_eq!(batch.schema().field(0).name(), "trial");
    let shown = ["trial", "payload_bytes", "calls_count", "host"].map(|name| shown(&batch, name));
    assert_eq!(shown, ["seventh", "7", "null", "null"]);
}

/// A segment whose numbers are all different.
fn record() -> Record {
    Record {
        mono_ns: 101,
        pacing_rate: 102,
        sequence: 103,
        acknowledgment: 104,
        payload_bytes: 105,
        window_bytes: 106,
        unacked_bytes: 107,
        unsent_bytes: 108,
        cwnd: 109,
        ssthresh: 110,
        srtt: 8,
        send_window_bytes: 111,
        receive_queue_bytes: 112,
        window_field: 113,
        gso_size: 114,
        wire_segments: 115,
        direction: 1,
        flags: 116,
        context: 1,
        ksoftirqd: 1,
        retransmission: 255,
        reason: 4,
        has_state: 1,
        ..Record::default()
    }
}

const LOGGED: [(&str, &str); 26] = [
    ("host", "far"),
    ("connection", "117"),
    ("role", "receiver"),
    ("direction", "in"),
    ("segment_mono_ns", "101"),
    ("sequence", "103"),
    ("acknowledgment", "104"),
    ("payload_bytes", "105"),
    ("gso_size_bytes", "114"),
    ("wire_segments", "115"),
    ("flags", "116"),
    ("window_field", "113"),
    ("window_bytes", "106"),
    ("unacked_bytes", "107"),
    ("unsent_bytes", "108"),
    ("cwnd_segments", "109"),
    ("ssthresh_segments", "110"),
    ("srtt_ns", "1000"),
    ("send_window_bytes", "111"),
    ("pacing_rate_bytes_per_second", "102"),
    ("receive_queue_bytes", "112"),
    ("context", "net_rx"),
    ("ksoftirqd", "true"),
    ("cpu", "118"),
    ("retransmission", "null"),
    ("ack_reason", "out_of_order"),
];

#[test]
fn every_value_of_a_logged_segment_stands_in_the_column_of_its_name() {
    let mut log = Log::<SegmentRow<'_>>::create().expect("a temporary file");
    log.push(logs::segment("far", Role::Receiver, 117, 118, &record())).expect("room");
    let mut file = log.finish().expect("room");
    file.rewind().expect("a file");
    let batch = batch(file);
    let names: Vec<_> = SEGMENTS.columns.iter().map(|column| column.name).collect();
    assert_eq!(names, LOGGED.map(|(name, _)| name));
    for (name, value) in LOGGED {
        assert_eq!(shown(&batch, name), value, "{name}");
    }
}

#[test]
fn a_segment_seen_without_its_socket_has_none_of_the_sockets_columns() {
    let row = logs::segment("far", Role::Receiver, 0, 0, &Record { has_state: 0, ..record() });
    assert_eq!((row.cwnd_segments, row.srtt_ns, row.pacing_rate_bytes_per_second, row.window_bytes), (None, None, None, 106));
}
