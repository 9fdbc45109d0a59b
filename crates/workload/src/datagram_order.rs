//! Which operation a datagram belongs to: each carries the number of its operation, as much of it as
//! there is room for, so that what is late is not taken for what is waited for.

use crate::cursor::{BETWEEN, Cursor, Of};
use crate::script::{Step, Transaction};

/// Longest number in front of a datagram, in bytes.
pub const MAX_NUMBER_BYTES: usize = 8;
/// Bits of a number that count operations; the round's number is above them.
const OPERATION_BITS: u32 = 48;
/// The bits that count operations.
const OPERATIONS: u64 = (1 << OPERATION_BITS) - 1;

/// Writes the number of a datagram in front of it, the low bytes first.
pub fn write_number(datagram: &mut [u8], number: u64) {
    let length = datagram.len().min(MAX_NUMBER_BYTES);
    datagram[..length].copy_from_slice(&number.to_le_bytes()[..length]);
}

/// The distance that a datagram's number is ahead of this one, as far as its length lets one know.
fn ahead(datagram: &[u8], number: u64) -> i64 {
    let length = datagram.len().clamp(1, MAX_NUMBER_BYTES);
    let mut bytes = [0; MAX_NUMBER_BYTES];
    bytes[..length.min(datagram.len())].copy_from_slice(&datagram[..length.min(datagram.len())]);
    let unknown_bits = 64 - 8 * u32::try_from(length).unwrap_or(8);
    (u64::from_le_bytes(bytes).wrapping_sub(number) << unknown_bits).cast_signed() >> unknown_bits
}

/// Operations of an execution.
fn operations_count(transaction: &Transaction) -> u64 {
    transaction.steps.iter().map(|step| u64::from(step.count)).sum()
}

/// The number of the operation that a cursor is at; between two executions, of the first of the next.
pub(crate) fn number(cursor: &Cursor, transaction: &Transaction, round: u32) -> u64 {
    let passed = if cursor.step == BETWEEN { 0 } else { cursor.step as usize };
    let before: u64 = transaction.steps.iter().take(passed).map(|step| u64::from(step.count)).sum();
    let operation = cursor.execution.wrapping_mul(operations_count(transaction)) + before + u64::from(cursor.repetition);
    (u64::from(round) << OPERATION_BITS).wrapping_add(operation)
}

/// The number of the first operation of an execution.
pub(crate) fn first_number(execution: u64, transaction: &Transaction, round: u32) -> u64 {
    (u64::from(round) << OPERATION_BITS).wrapping_add(execution.wrapping_mul(operations_count(transaction)))
}

/// The execution that a number belongs to.
pub(crate) fn execution_of(number: u64, transaction: &Transaction) -> u64 {
    (number & OPERATIONS) / operations_count(transaction).max(1)
}

/// The number that a datagram carries, completed by where a cursor stands. Nothing where the datagram is none that
/// this host receives over that connection in this transaction.
pub(crate) fn number_of(datagram: &[u8], connection: u32, at: &Cursor, of: &Of<'_>, transaction: &Transaction) -> Option<u64> {
    let here = number(at, transaction, of.round);
    let there = here.checked_add_signed(ahead(datagram, here))?;
    if there >> OPERATION_BITS != u64::from(of.round) {
        return None;
    }
    let count = operations_count(transaction);
    let mut cursor = *at;
    cursor.execution = (there & OPERATIONS) / count;
    (cursor.step, cursor.repetition) = step_of(transaction, (there & OPERATIONS) % count)?;
    let step = transaction.steps.get(cursor.step as usize)?;
    if !step.act.receives() || step.connection != connection {
        return None;
    }
    cursor.open(of, step);
    (cursor.size == datagram.len() as u64).then_some(there)
}

fn step_of(transaction: &Transaction, operation: u64) -> Option<(u32, u32)> {
    let mut left = operation;
    for (number, Step { count, .. }) in (0..).zip(&transaction.steps) {
        match left.checked_sub(u64::from(*count)) {
            Some(behind) => left = behind,
            None => return Some((number, u32::try_from(left).ok()?)),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_known_as_far_as_there_is_room() {
        for length in [1usize, 2, 3, 8, 100] {
            for (sent, waited_for) in [(0u64, 0u64), (300, 299), (299, 300), (255, 256), (1 << 47, (1 << 47) - 5)] {
                let mut datagram = vec![0xaa; length];
                write_number(&mut datagram, sent);
                assert_eq!(ahead(&datagram, waited_for), sent.cast_signed() - waited_for.cast_signed(), "{sent} in {length} bytes");
            }
        }
    }
}
