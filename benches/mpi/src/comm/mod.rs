//! A communicator that keeps account: every message and collective of a rank is counted, with its bytes and
//! the time spent in it, by phase of the program.
//!
//! Ranks are `usize` here, and errors of MPI end the program: that is MPI's default error handler.

mod account;
mod iterations;
mod meeting;
mod posts;

use std::panic;
use std::rc::Rc;
use std::time::Instant;

use jitterlab_live::Publisher;
use mpi::Tag;
use mpi::collective::{Operation, Root as _, SystemOperation};
use mpi::datatype::{Equivalence, Partition, PartitionMut};
use mpi::point_to_point::{self, Destination as _, Source as _};
use mpi::topology::{Color, Communicator as _, Process, SimpleCommunicator};
use mpi::traits::CommunicatorCollectives as _;

pub use account::Account;
pub use iterations::Iterations;
pub use jitterlab_mpi_results::npb::Phase;
pub use meeting::Meeting;
pub use posts::{Posted, Posts};

/// Makes a rank that panics end all ranks from now on, with exit status 3. Unwinding would come to `MPI_Finalize`, which
/// waits for the others, who wait for this one's messages: nobody would ever end.
pub fn end_all_with_a_panic() {
    let say = panic::take_hook();
    panic::set_hook(Box::new(move |why| {
        say(why);
        SimpleCommunicator::world().abort(3);
    }));
}

/// A communicator, and this rank's account of it.
///
/// Communicators that are split off share the account of the one they come from.
pub struct Comm {
    inner: SimpleCommunicator,
    account: Rc<Account>,
}

impl Comm {
    /// Keeps account of a communicator from now on, in the phase `setup`.
    pub fn new(inner: SimpleCommunicator) -> Comm {
        Comm {
            inner,
            account: Rc::new(Account::new()),
        }
    }

    /// The communicator itself. What passes it is in no account: it is for those who time every message
    /// themselves, and whom two more readings of the clock would disturb.
    pub fn bare(&self) -> &SimpleCommunicator {
        &self.inner
    }

    /// This process, from 0.
    pub fn rank(&self) -> usize {
        self.inner.rank() as usize
    }

    /// The number of processes.
    pub fn size(&self) -> usize {
        self.inner.size() as usize
    }

    /// Begins a phase of this name, or goes on with one that was there before. What follows belongs to it.
    pub fn phase(&self, name: &'static str) {
        self.account.enter(name);
    }

    /// Does something once before it is measured: whatever phases it names, it belongs to the one under way.
    pub fn warm_up<R>(&self, body: impl FnOnce() -> R) -> R {
        self.account.hold(body)
    }

    /// The numbers of iterations that are measured; whoever follows is told how many are done.
    pub fn iterations<I: ExactSizeIterator>(&self, numbers: I) -> Iterations<I> {
        let live = match self.account.is_held() {
            true => Publisher::NOBODY,
            false => jitterlab_live::publisher(),
        };
        Iterations::new(numbers, live)
    }

    /// The counts up to now, a phase each, in the order in which they were first entered.
    pub fn phases(&self) -> Vec<Phase> {
        self.account.phases()
    }

    /// The processes that gave the same colour, in the order of their ranks.
    pub fn split(&self, color: usize) -> Comm {
        let inner = self
            .inner
            .split_by_color(Color::with_value(color as i32))
            .unwrap_or_else(|| unreachable!("a colour that is defined makes a communicator"));
        Comm {
            inner,
            account: Rc::clone(&self.account),
        }
    }

    /// Does something when all have arrived, and says how long the slowest took, in seconds. The phases that are named
    /// in it end with it.
    pub fn timed(&self, body: impl FnOnce()) -> f64 {
        self.barrier();
        let start = Instant::now();
        self.account.within(body);
        let mut seconds = [start.elapsed().as_secs_f64()];
        self.all_reduce_in_place(&mut seconds, SystemOperation::max());
        seconds[0]
    }

    /// Sends a message, and returns when `data` may be changed.
    pub fn send<T: Equivalence>(&self, to: usize, tag: Tag, data: &[T]) {
        self.account
            .message(size_of_val(data), || self.peer(to).send_with_tag(data, tag));
    }

    /// Waits for a message of at most the length of `into`.
    pub fn receive<T: Equivalence>(&self, from: usize, tag: Tag, into: &mut [T]) {
        self.account.wait(|| {
            self.peer(from).receive_into_with_tag(into, tag);
        });
    }

    /// Sends one message and receives another at the same time.
    pub fn exchange<T: Equivalence>(
        &self,
        to: usize,
        data: &[T],
        from: usize,
        into: &mut [T],
        tag: Tag,
    ) {
        self.account.message(size_of_val(data), || {
            let (to, from) = (self.peer(to), self.peer(from));
            point_to_point::send_receive_into_with_tags(data, &to, tag, into, &from, tag);
        });
    }

    /// Messages that are under way while something else is done: they end before this does.
    ///
    /// A [`Posted`] has to be waited for.
    pub fn post<'a, R>(&self, body: impl FnOnce(&Posts<'_, 'a>) -> R) -> R {
        mpi::request::scope(|scope| body(&Posts::new(self, scope)))
    }

    /// Waits for all.
    pub fn barrier(&self) {
        self.account.collective(0, || self.inner.barrier());
    }

    /// Enters a barrier without waiting in it.
    pub fn meet(&self) -> Meeting {
        Meeting::new(&self.inner)
    }

    /// Everybody gets what `root` has.
    pub fn broadcast<T: Equivalence>(&self, root: usize, data: &mut [T]) {
        let given = if self.rank() == root {
            size_of_val(data)
        } else {
            0
        };
        self.account.collective(given, || {
            self.peer(root).broadcast_into(data);
        });
    }

    /// `result[i]` is `op` over the `data[i]` of all, everywhere.
    pub fn all_reduce<T: Equivalence>(&self, data: &[T], result: &mut [T], op: impl Operation) {
        self.account.collective(size_of_val(data), || {
            self.inner.all_reduce_into(data, result, op);
        });
    }

    /// [`Comm::all_reduce`] over the data itself.
    pub fn all_reduce_in_place<T: Equivalence + Clone>(&self, data: &mut [T], op: impl Operation) {
        let mine = data.to_vec();
        self.all_reduce(&mine, data, op);
    }

    /// Everybody gets the data of all, in the order of ranks: `result` is [`Comm::size`] times as long.
    pub fn all_gather<T: Equivalence>(&self, data: &[T], result: &mut [T]) {
        self.account.collective(size_of_val(data), || {
            self.inner.all_gather_into(data, result);
        });
    }

    /// Sends the `k`th of [`Comm::size`] equal parts of `data` to rank `k`. It puts that part at the place of the sender in `result`.
    pub fn all_to_all<T: Equivalence>(&self, data: &[T], result: &mut [T]) {
        self.account.collective(size_of_val(data), || {
            self.inner.all_to_all_into(data, result);
        });
    }

    /// [`Comm::all_to_all`] with parts of any length: how many elements each has.
    ///
    /// The parts lie one behind the other, in the order of ranks; behind them there may be more, which nobody gets.
    pub fn all_to_all_parts<T: Equivalence>(
        &self,
        data: &[T],
        lengths: &[i32],
        result: &mut [T],
        result_lengths: &[i32],
    ) {
        let send = Partition::new(data, lengths, starts(lengths));
        let mut receive = PartitionMut::new(result, result_lengths, starts(result_lengths));
        let given = lengths.iter().sum::<i32>() as usize;
        self.account.collective(size_of_val(&data[..given]), || {
            self.inner.all_to_all_varcount_into(&send, &mut receive);
        });
    }

    /// The reports of all, in the order of ranks, at rank 0; elsewhere nothing. This is not counted.
    pub fn collect(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let root = self.peer(0);
        let length = bytes.len() as i32;
        if self.rank() != 0 {
            root.gather_into(&length);
            root.gather_varcount_into(bytes);
            return Vec::new();
        }
        let mut lengths = vec![0; self.size()];
        root.gather_into_root(&length, &mut lengths[..]);
        let mut all = vec![0; lengths.iter().sum::<i32>() as usize];
        let mut parts = PartitionMut::new(&mut all[..], &lengths[..], starts(&lengths));
        root.gather_varcount_into_root(bytes, &mut parts);
        let mut rest = &all[..];
        lengths
            .iter()
            .map(|&length| {
                let (part, behind) = rest.split_at(length as usize);
                rest = behind;
                part.to_vec()
            })
            .collect()
    }

    fn peer(&self, rank: usize) -> Process<'_> {
        self.inner.process_at_rank(rank as i32)
    }
}

/// The place where each part begins when they lie one behind the other.
fn starts(lengths: &[i32]) -> Vec<i32> {
    lengths
        .iter()
        .scan(0, |next, length| {
            let start = *next;
            *next += length;
            Some(start)
        })
        .collect()
}
