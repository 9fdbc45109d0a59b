//! The codes that BPF programs write into the record's columns of words are generated from the words: a header of
//! enumerations, which the programs include.

use schema::table::{AckReason, CallKind, CallOutcome, Context, Retransmission, SegmentDirection, Stage, StageGap};
use std::fmt::Write;
use std::fs;

const GENERATED: &str = "../bpf-build/include/whyperf/codes.h";

fn generated() -> String {
    let mut text = "/* Generated from crates/schema by `make schemas`; a test compares the two. */\n#pragma once\n".to_owned();
    let enumerations: [(&str, &[&str]); 8] = [
        ("direction", &SegmentDirection::WORDS),
        ("context", &Context::WORDS),
        ("ack_reason", &AckReason::WORDS),
        ("retransmission", &Retransmission::WORDS),
        ("call_kind", &CallKind::WORDS),
        ("outcome", &CallOutcome::WORDS),
        ("stage", &Stage::WORDS),
        ("stage_gap", &StageGap::WORDS),
    ];
    for (name, texts) in enumerations {
        let prefix = name.to_uppercase();
        let _ = writeln!(text, "\nenum {name} {{");
        for (code, word) in texts.iter().enumerate() {
            let _ = writeln!(text, "\t{prefix}_{} = {code},", word.to_uppercase());
        }
        let _ = writeln!(text, "\t{prefix}S = {},\n}};", texts.len());
    }
    text
}

#[test]
fn the_programs_codes_are_the_words_of_the_tables() {
    let current = generated();
    if std::env::var_os("WHYPERF_GENERATE").is_some() {
        fs::write(GENERATED, &current).expect("the file can be written");
    }
    let checked_in = fs::read_to_string(GENERATED).unwrap_or_default();
    assert!(checked_in == current, "{GENERATED} is not what the tables say; run make schemas and commit the result");
}
