//! Lines in, answers out: several threads, and the answers in the order of the lines.

use anyhow::Context;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;

/// Lines that are read ahead of the threads: a few, so that memory does not grow with the input.
const AHEAD_LINES: usize = 64;

/// Answers every line of `input` by `answer`, and gives the answers to `take`, in order and as soon as those before it are answered: whoever
/// asks one at a time gets each answer before the next question. An empty line has no answer.
pub fn answer_each<T: Send>(
    input: &mut dyn BufRead,
    threads: usize,
    answer: impl Fn(&str) -> T + Sync,
    take: &mut (dyn FnMut(T) -> anyhow::Result<()> + Send),
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        let (work, taken) = mpsc::sync_channel::<(u64, String)>(AHEAD_LINES);
        let (done, answers) = mpsc::channel::<(u64, T)>();
        // Gone with the last thread, so that nobody waits for room behind a thread that has ended.
        let taken = Arc::new(Mutex::new(taken));
        let answer = &answer;
        for _ in 0..threads {
            let (done, taken) = (done.clone(), Arc::clone(&taken));
            scope.spawn(move || {
                loop {
                    let next = taken.lock().map(|taken| taken.recv());
                    let Ok(Ok((number, line))) = next else { return };
                    if done.send((number, answer(&line))).is_err() {
                        return;
                    }
                }
            });
        }
        drop((done, taken));
        let writer = scope.spawn(move || take_in_order(&answers, take));
        let mut number = 0;
        let mut line = String::new();
        while !writer.is_finished() && input.read_line(&mut line).context("reading standard input")? > 0 {
            if !line.trim().is_empty() {
                if work.send((number, std::mem::take(&mut line))).is_err() {
                    break;
                }
                number += 1;
            }
            line.clear();
        }
        drop(work);
        writer.join().map_err(|_| anyhow::anyhow!("the answers could not be written"))?
    })
}

/// Answers that came before those of earlier lines wait for them.
fn take_in_order<T>(answers: &Receiver<(u64, T)>, take: &mut dyn FnMut(T) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    for (number, answer) in answers {
        waiting.insert(number, answer);
        while let Some(answer) = waiting.remove(&next) {
            take(answer)?;
            next += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_lines() {
        let input: String = (0..500).map(|number| format!("{number}\n\n")).collect::<Vec<_>>().concat();
        let mut taken = Vec::new();
        let slow = |line: &str| {
            if line.trim().ends_with('0') {
                thread::yield_now();
            }
            line.trim().parse::<u32>().expect("a number")
        };
        let mut take = |number| -> anyhow::Result<()> {
            taken.push(number);
            Ok(())
        };
        answer_each(&mut input.as_bytes(), 4, slow, &mut take).expect("no failure");
        assert_eq!(taken, (0..500).collect::<Vec<_>>());
    }
}
