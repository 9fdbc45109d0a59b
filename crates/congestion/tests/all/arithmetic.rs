//! The algorithms' arithmetic as C compiled for user space, with the layout of its structures.

// The build script links the compiled arithmetic to the crate.
use congestion as _;

macro_rules! pure {
    ($($(#[$meta:meta])* fn $name:ident as $symbol:ident ($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        unsafe extern "C" { $(fn $symbol($($argument: $kind),*) -> $result;)* }
        $($(#[$meta])* pub fn $name($($argument: $kind),*) -> $result {
            // SAFETY: the functions compute with integers and the structures behind their references, whose layout is C's.
            unsafe { $symbol($($argument),*) }
        })*
    };
}

/// Gains are in these parts of a segment.
pub const SEGMENT: u32 = 128;

#[repr(C)]
#[derive(Default)]
pub struct Bic {
    pub maximum: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct Fast {
    pub rtt_us_sum: u64,
    pub rtt_us_count: u32,
    pub rtt_us_least: u32,
    pub queued_count: u32,
    pub round_end: u32,
    pub gain: u32,
    pub alpha: u32,
    pub is_starting: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct Hslp {
    pub inference_end_us: u64,
    pub indicated_us: u64,
    pub delay_first: u32,
    pub delay_smoothed: i32,
    pub delay_min: i32,
    pub delay_max: i32,
    pub has_delay: u32,
}

#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "C makes the values")]
pub enum Answer {
    Grow,
    Wait,
    Halve,
    Yield,
}

pure! {
    fn grown as test_grown(cwnd: u32, gain: u32, acked: u32, credit: &mut u32) -> u32;
    fn scalable_gain as test_scalable_gain(cwnd: u32) -> u32;
    fn scalable_kept as test_scalable_kept(cwnd: u32) -> u32;
    fn highspeed_gain as test_highspeed_gain(cwnd: u32) -> u32;
    fn highspeed_kept as test_highspeed_kept(cwnd: u32) -> u32;
    fn ltcp_layers as test_ltcp_layers(cwnd: u32) -> u32;
    fn ltcp_gain as test_ltcp_gain(cwnd: u32) -> u32;
    fn ltcp_kept as test_ltcp_kept(cwnd: u32) -> u32;
    fn bic_gain as test_bic_gain(bic: &Bic, cwnd: u32) -> u32;
    fn bic_kept as test_bic_kept(cwnd: u32) -> u32;
    fn bic_on_loss as test_bic_on_loss(bic: &mut Bic, cwnd: u32) -> ();
    fn htcp_alpha as test_htcp_alpha(since_loss_us: u64) -> u32;
    fn htcp_gain as test_htcp_gain(since_loss_us: u64, rtt_us_min: u32, beta: u32) -> u32;
    fn htcp_beta as test_htcp_beta(rate: u32, rate_before: u32, rtt_us_min: u32, rtt_us_max: u32) -> u32;
    fn fast_alpha as test_fast_alpha(alpha: u32, bytes_per_s: u64) -> u32;
    fn fast_on_rtt as test_fast_on_rtt(fast: &mut Fast, cwnd: u32, rtt_us: u32) -> ();
    fn fast_on_round as test_fast_on_round(fast: &mut Fast, cwnd: u32, mss_bytes: u32) -> u32;
    fn hslp_on_delay as test_hslp_on_delay(hslp: &mut Hslp, delay: u32, acked: u32) -> ();
    fn hslp_on_ack as test_hslp_on_ack(hslp: &mut Hslp, now_us: u64, rtt_us: u32) -> Answer;
}

/// Reno, to compare with: a segment a round trip, half at a loss (RFC 5681).
pub fn reno_gain(_: u32) -> u32 {
    SEGMENT
}

/// What Reno keeps.
pub fn reno_kept(cwnd: u32) -> u32 {
    cwnd / 2
}

/// A round trip: the whole window is acknowledged, two segments an ACK.
pub fn after_round(cwnd: u32, credit: &mut u32, gain: impl Fn(u32) -> u32) -> u32 {
    let mut now = cwnd;
    for _ in 0..cwnd.div_ceil(2) {
        now = grown(now, gain(now), 2, credit);
    }
    now
}

/// Round trips from a loss at `cwnd` until the window is as large again.
pub fn recovery_rounds(cwnd: u32, kept: impl Fn(u32) -> u32, gain: impl Fn(u32) -> u32) -> u32 {
    let (mut now, mut credit, mut rounds) = (kept(cwnd), 0, 0);
    while now < cwnd {
        now = after_round(now, &mut credit, &gain);
        rounds += 1;
    }
    rounds
}
