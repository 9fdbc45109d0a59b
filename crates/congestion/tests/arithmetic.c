/* The algorithms' arithmetic for the tests in user space: the same lines as in the BPF programs, whose
 * functions have no address of their own.
 */
#include "../src/bpf/bic.h"
#include "../src/bpf/fast.h"
#include "../src/bpf/hslp.h"
#include "../src/bpf/htcp.h"
#include "../src/bpf/ltcp.h"
#include "../src/bpf/scalable.h"

__u32 test_grown(__u32 cwnd, __u32 gain, __u32 acked, __u32 *credit) { return grown(cwnd, gain, acked, credit); }
__u32 test_scalable_gain(__u32 cwnd) { return scalable_gain(cwnd); }
__u32 test_scalable_kept(__u32 cwnd) { return scalable_kept(cwnd); }
__u32 test_highspeed_gain(__u32 cwnd) { return highspeed_gain(cwnd); }
__u32 test_highspeed_kept(__u32 cwnd) { return highspeed_kept(cwnd); }
__u32 test_ltcp_layers(__u32 cwnd) { return ltcp_layers(cwnd); }
__u32 test_ltcp_gain(__u32 cwnd) { return ltcp_gain(cwnd); }
__u32 test_ltcp_kept(__u32 cwnd) { return ltcp_kept(cwnd); }
__u32 test_bic_gain(const struct bic *bic, __u32 cwnd) { return bic_gain(bic, cwnd); }
__u32 test_bic_kept(__u32 cwnd) { return bic_kept(cwnd); }
void test_bic_on_loss(struct bic *bic, __u32 cwnd) { bic_on_loss(bic, cwnd); }
__u32 test_htcp_alpha(__u64 since_loss_us) { return htcp_alpha(since_loss_us); }
__u32 test_htcp_gain(__u64 since_loss_us, __u32 rtt_us_min, __u32 beta) { return htcp_gain(since_loss_us, rtt_us_min, beta); }
__u32 test_htcp_beta(__u32 rate, __u32 before, __u32 rtt_us_min, __u32 rtt_us_max) { return htcp_beta(rate, before, rtt_us_min, rtt_us_max); }
__u32 test_fast_alpha(__u32 alpha, __u64 bytes_per_s) { return fast_alpha(alpha, bytes_per_s); }
void test_fast_on_rtt(struct fast *fast, __u32 cwnd, __u32 rtt_us) { fast_on_rtt(fast, cwnd, rtt_us); }
__u32 test_fast_on_round(struct fast *fast, __u32 cwnd, __u32 mss_bytes) { return fast_on_round(fast, cwnd, mss_bytes); }
void test_hslp_on_delay(struct hslp *hslp, __u32 delay, __u32 acked) { hslp_on_delay(hslp, delay, acked); }
enum hslp_answer test_hslp_on_ack(struct hslp *hslp, __u64 now_us, __u32 rtt_us) { return hslp_on_ack(hslp, now_us, rtt_us); }
