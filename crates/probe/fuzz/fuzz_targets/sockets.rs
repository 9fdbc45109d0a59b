//! Checks that what the kernel says of sockets is read within its bounds, whatever its lengths say.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probe::sockets::sockets_in;

/// `struct nlmsghdr` and `struct inet_diag_msg`.
const MIN_BYTES: usize = 16 + 72;

fuzz_target!(|bytes: &[u8]| {
    let found: Vec<_> = sockets_in(bytes).collect();
    assert!(found.len() * MIN_BYTES <= bytes.len());
    for socket in &found {
        assert!(socket.congestion_control.as_ref().is_none_or(|name| !name.is_empty() && !name.contains('\0')));
        assert!(socket.key.ends().iter().all(|end| end.ip() == end.ip().to_canonical()));
        // Nothing is added up that could overflow.
        let _ = (socket.moved_bytes(), socket.has_moved_nothing());
    }
    // What comes behind a whole message changes nothing of it.
    let again: Vec<_> = sockets_in(&[bytes, &[0; 16]].concat()).map(|socket| socket.key).collect();
    assert!(again.starts_with(&found.iter().map(|socket| socket.key).collect::<Vec<_>>()));
});
