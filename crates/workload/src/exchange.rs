//! Requests and replies on one connection, one outstanding: the sender waits for the reply to each
//! request before the next.

/// Where requests end, and how long their replies are. Without replies the payload is a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Bytes of a request, of a reply, and what is missing of the request under way.
    request: usize,
    reply: usize,
    missing: usize,
}

impl Exchange {
    /// Requests and replies of these sizes in bytes; replies of 0 bytes: a stream.
    pub fn new(request_bytes: u32, reply_bytes: u32) -> Self {
        let request = request_bytes as usize;
        Self { request, reply: reply_bytes as usize, missing: request }
    }

    /// Length of a reply in bytes.
    pub fn reply_bytes(&self) -> usize {
        self.reply
    }

    /// Bytes of requests have moved. Returns the reply's length when they end a request that gets
    /// one.
    pub fn on_moved(&mut self, moved_bytes: usize) -> Option<usize> {
        if self.reply == 0 {
            return None;
        }
        self.missing = self.missing.saturating_sub(moved_bytes);
        if self.missing > 0 {
            return None;
        }
        self.missing = self.request;
        Some(self.reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_whole_request_is_answered_once() {
        let mut exchange = Exchange::new(1000, 64);
        assert_eq!(exchange.on_moved(400), None);
        assert_eq!(exchange.on_moved(600), Some(64));
        assert_eq!(exchange.on_moved(1000), Some(64));
        assert_eq!(exchange.on_moved(999), None);
    }

    #[test]
    fn a_stream_has_no_replies() {
        let mut exchange = Exchange::new(1000, 0);
        assert!((0..10).all(|_| exchange.on_moved(1000).is_none()));
    }
}
