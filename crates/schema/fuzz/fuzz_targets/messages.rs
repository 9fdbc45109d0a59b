//! A message that is taken is the same after it was written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::message::{Envelope, Reply, Request};

fuzz_target!(|bytes: &[u8]| {
    match serde_json::from_slice::<Envelope<Request>>(bytes) {
        Ok(found) => {
            let written = serde_json::to_vec(&found).expect("it was read");
            assert_eq!(serde_json::from_slice::<Envelope<Request>>(&written).expect("it was written"), found);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(found) = serde_json::from_slice::<Envelope<Reply>>(bytes) {
        let written = serde_json::to_vec(&found).expect("it was read");
        assert_eq!(serde_json::from_slice::<Envelope<Reply>>(&written).expect("it was written"), found);
    }
});
