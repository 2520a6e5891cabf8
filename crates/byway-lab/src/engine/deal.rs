//! Which runs are done next: the queue, and what each answer adds to it.
//!
//! Neither threads nor workers are known here. What is dealt out depends on the
//! answers alone, not on their order in time.

use super::job::Job;
use super::rows::Answer;
use std::collections::VecDeque;
use std::ops::Range;

/// Runs of a chain: places of its seeds.
pub(super) type Share = (usize, Range<usize>);

/// The runs that are still to be done, and the answers so far.
pub(super) struct Deal {
    /// Runs to be done: chains, and places of their seeds.
    queue: VecDeque<Share>,
    /// Runs in the queue.
    queued: usize,
    states: Vec<State>,
    /// Runs that were dealt out and not answered yet.
    running: usize,
    /// Rows that are done.
    done: usize,
    /// Rows at most, as far as is known.
    most: usize,
}

/// How far a chain has come.
struct State {
    answers: Vec<Option<Answer>>,
    /// Seeds that were requested so far.
    asked: usize,
    /// Of these, how many are still missing.
    missing: usize,
}

impl Deal {
    /// Begins with what the store of `job` has.
    pub(super) fn begin(job: &Job<'_>) -> Deal {
        let state = |seeds: usize| State {
            answers: vec![None; seeds],
            asked: 0,
            missing: 0,
        };
        let chains = &job.chains.all;
        let mut deal = Deal {
            queue: VecDeque::new(),
            queued: 0,
            states: chains.iter().map(|c| state(c.seeds.len())).collect(),
            running: 0,
            done: 0,
            most: job.plans.iter().map(|p| p.runs()).sum(),
        };
        for chain in 0..chains.len() {
            deal.next_batch(job, chain);
        }
        deal
    }

    /// Rows that are done, and rows at most.
    pub(super) fn progress(&self) -> (usize, usize) {
        (self.done, self.most)
    }

    /// Runs that wait to be dealt out.
    pub(super) fn queued(&self) -> usize {
        self.queued
    }

    /// Whether runs are under way; their answers may ask for more.
    pub(super) fn is_running(&self) -> bool {
        self.running > 0
    }

    /// Deals out the next run: a chain, and the place of its seed.
    pub(super) fn pop(&mut self) -> Option<(usize, usize)> {
        let (chain, range) = self.queue.front_mut()?;
        let next = (*chain, range.start);
        range.start += 1;
        if range.start >= range.end {
            self.queue.pop_front();
        }
        self.queued -= 1;
        self.running += 1;
        Some(next)
    }

    /// The run that is next: a chain, and the place of its seed.
    pub(super) fn front(&self) -> Option<(usize, usize)> {
        let (chain, range) = self.queue.front()?;
        Some((*chain, range.start))
    }

    /// Takes back runs that were dealt out and will not be answered.
    pub(super) fn give_back(&mut self, shares: impl DoubleEndedIterator<Item = Share>) {
        for (chain, range) in shares.rev() {
            self.queued += range.len();
            self.running -= range.len();
            self.queue.push_front((chain, range));
        }
    }

    /// Takes the answer to a run that was dealt out.
    pub(super) fn take(&mut self, job: &Job<'_>, chain: usize, place: usize, answer: Answer) {
        let of = &job.chains.all[chain];
        let state = &mut self.states[chain];
        state.answers[place] = Some(answer);
        state.missing -= 1;
        self.running -= 1;
        self.done += job.rows(of, of.seeds[place]);
        self.next_batch(job, chain);
    }

    /// The answers: for each chain, in the order of its seeds.
    pub(super) fn into_answers(self) -> impl Iterator<Item = Vec<Option<Answer>>> {
        self.states.into_iter().map(|state| state.answers)
    }

    /// Asks for a chain's next runs, now that those before them are there;
    /// known ones are passed over.
    fn next_batch(&mut self, job: &Job<'_>, index: usize) {
        let chain = &job.chains.all[index];
        let state = &mut self.states[index];
        let all = chain.seeds.len();
        while state.missing == 0 && state.asked < all {
            if state.asked > 0 && job.enough(chain, &state.answers[..state.asked]) {
                let rest = &chain.seeds[state.asked..];
                self.most -= rest.iter().map(|s| job.rows(chain, *s)).sum::<usize>();
                return;
            }
            let begin = state.asked;
            state.asked = all.min(begin + job.batch(chain, begin));
            for place in begin..state.asked {
                let seed = chain.seeds[place];
                // Without simulating there is nothing that could fail.
                if let Ok(Some(answer)) = job.answer(chain, seed, false) {
                    state.answers[place] = Some(answer);
                    self.done += job.rows(chain, seed);
                    continue;
                }
                state.missing += 1;
                self.queued += 1;
                match self.queue.back_mut() {
                    Some((c, range)) if *c == index && range.end == place => range.end += 1,
                    _ => self.queue.push_back((index, place..place + 1)),
                }
            }
        }
    }
}
