// Rows as text. The page has the texts of the codes, from terms.py.

const flagNames = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
const flagText = (flags) => flagNames.filter((_, bit) => flags & (1 << bit)).join(" ");

function rowTexts(rows, i) {
  const [payload, wire, gso] = [rows.payload[i], rows.wire[i], rows.gso[i]];
  const context = flow.contexts[rows.context[i] & 15];
  const reason = flow.reasons[rows.reason[i] & 15];
  const again = flow.retransmissions[rows.reason[i] >> 4];
  return {
    kind: `${rows.out[i] ? "sent" : "received"}${again ? ", retransmission" : ""}`,
    time: instant(rows.time[i]),
    payload: payload ? `${bytes(payload)}${wire > 1 ? ` in ${count(wire)} segments${gso ? ` of ${count(gso)}` : ""}` : ""}` : "none",
    sequence: count(rows.sequence[i]),
    acknowledgment: rows.flags[i] & 16 ? count(rows.ack[i]) : "none",
    window: bytes(rows.window[i]),
    unacked: bytes(rows.unacked[i]),
    cwnd: rows.cwnd[i] === 0xffffffff ? "" : `${count(rows.cwnd[i])} segments`,
    context: `${context}${rows.context[i] & 16 ? ", in ksoftirqd" : ""}`,
    reason,
    again,
    flags: flagText(rows.flags[i]),
  };
}

// Label and text of every known value of a row.
function rowDetails(rows, i, role) {
  const facts = rowTexts(rows, i);
  const outstanding = role === "sender" ? "Unacknowledged after it" : "Received, not acknowledged";
  return [
    ["Time", facts.time], ["Payload", facts.payload], ["Sequence", facts.sequence], ["Acknowledges", facts.acknowledgment],
    ["Window", facts.window], [outstanding, facts.unacked], ["Congestion window", facts.cwnd], ["Context", facts.context],
    ["ACK reason", facts.reason], ["Retransmitted", facts.again], ["Flags", facts.flags],
  ].filter(([, text]) => text);
}
