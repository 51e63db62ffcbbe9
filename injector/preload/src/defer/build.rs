//! Posts on RDMA queue pairs, by the extended calls: `wr_start`, any number of builder functions,
//! `wr_complete`.
//!
//! In between, recorders stand in the place of the queue pair's builder functions. They note the
//! words that they are called with, and copy what a pointer leads to. When it is time the helper
//! calls the real functions with the same words. A builder function's fields (`wr_id`, `wr_flags`)
//! and the functions themselves are in the one structure that the program uses too, so the helper
//! and a program that is building keep out of each other's way. A session that is recorded holds the
//! provider's lock like one that is not: it begins with the real `wr_start`, and ends with the real
//! `wr_abort`.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use jitterlab_injector::delay::Delay;

use super::{
    DEFERRED, Deferred, LANE_BYTES, Outcome, PATIENCE_NS, Work, is_full, memory, release, settle,
    wait_for_progress,
};
use crate::abi::{self, DataBuffer, Sge, builder};
use crate::state;

/// `wr_start` and `wr_abort`.
pub(crate) type Start = unsafe extern "C" fn(*mut c_void);
type Complete = unsafe extern "C" fn(*mut c_void) -> c_int;
/// A builder function: the most that any of them takes. A function that takes less does not look
/// at the other registers.
type Build = unsafe extern "C" fn(*mut c_void, usize, usize, usize, usize);

/// The places of the functions that are replaced while a program builds.
const PLACES: usize = abi::WR_BUILDERS + 2;

/// One call of a builder function, in words; what it copied follows.
#[repr(C)]
#[derive(Clone, Copy)]
struct Call {
    function: usize,
    id: u64,
    flags: u32,
    words: [usize; 4],
    /// The word that is the place of the copy; 4 for none.
    copied_at: usize,
    /// The length of the copy, in words of eight bytes.
    length: usize,
}

const CALL_WORDS: usize = size_of::<Call>() / 8;

/// A queue pair that was seen to be used with the extended calls.
struct Builder {
    qp: AtomicPtr<c_void>,
    /// Somebody builds, or the helper posts.
    taken: AtomicBool,
    /// The program builds by functions that are not in the structure, too: nothing is recorded.
    exempt: AtomicBool,
    inner: UnsafeCell<Inner>,
}

struct Inner {
    originals: [*mut c_void; PLACES],
    start: Option<Start>,
    delay: Option<Delay>,
    record: Vec<u64>,
}

// SAFETY: `inner` is used by whoever has `taken` the builder.
unsafe impl Sync for Builder {}

const BUILDERS: usize = 1 << 9;
static ALL: [Builder; BUILDERS] = [const {
    Builder {
        qp: AtomicPtr::new(std::ptr::null_mut()),
        taken: AtomicBool::new(false),
        exempt: AtomicBool::new(false),
        inner: UnsafeCell::new(Inner {
            originals: [std::ptr::null_mut(); PLACES],
            start: None,
            delay: None,
            record: Vec::new(),
        }),
    }
}; BUILDERS];

/// Posts that were recorded.
#[derive(Clone, Copy)]
pub(super) struct Built {
    builder: &'static Builder,
    qp: *mut c_void,
    start: Start,
    record: NonNull<u64>,
    words: usize,
}

fn builder_of(qp: *mut c_void) -> Option<&'static Builder> {
    let from = (qp.addr() >> 4).wrapping_mul(0x9e37_79b9) >> 8;
    (0..BUILDERS)
        .map(|step| &ALL[(from + step) % BUILDERS])
        .take_while(|builder| !builder.qp.load(Ordering::Acquire).is_null())
        .find(|builder| builder.qp.load(Ordering::Relaxed) == qp)
}

/// Makes a queue pair known. One that comes when the table is full is never deferred.
pub(crate) fn introduce(qp: *mut c_void) {
    if builder_of(qp).is_some() {
        return;
    }
    let from = (qp.addr() >> 4).wrapping_mul(0x9e37_79b9) >> 8;
    // An address that is used again has a builder already, so none is ever given back.
    let null = std::ptr::null_mut();
    let _ = (0..BUILDERS - 1)
        .map(|step| &ALL[(from + step) % BUILDERS])
        .find(|builder| {
            builder
                .qp
                .compare_exchange(null, qp, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        });
}

/// # Safety
/// `qp` is a `struct ibv_qp_ex`.
unsafe fn places(qp: *mut c_void) -> impl Iterator<Item = *mut *mut c_void> {
    let last = [abi::WR_COMPLETE_AT, abi::WR_ABORT_AT];
    (0..abi::WR_BUILDERS)
        .map(|index| abi::WR_BUILDERS_AT + 8 * index)
        .chain(last)
        // SAFETY: these are members of the structure, by the contract of this function.
        .map(move |at| unsafe { qp.byte_add(at).cast() })
}

/// True if a queue pair has functions that build and that there is no recorder for. A provider offers them where the queue
/// pair was made with them.
///
/// # Safety
/// `qp` is a `struct ibv_qp_ex` of a provider.
pub(crate) unsafe fn builds_otherwise(qp: *mut c_void) -> bool {
    (0..abi::WR_LATER).any(|index| {
        // SAFETY: members of the structure, or of what providers have behind it.
        let word = unsafe {
            let at = qp.byte_add(abi::WR_LATER_AT + 8 * index);
            at.cast::<*mut c_void>().read()
        };
        let mut about = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
        // SAFETY: any address may be asked of; the answer is not looked at.
        unsafe { libc::dladdr(word, about.as_mut_ptr()) != 0 }
    })
}

/// The program also builds on this queue pair by functions that are not in the structure, from now
/// on. They know of no recording: its posts are never deferred.
pub(crate) fn exempt(qp: *mut c_void, exempt: bool) {
    if let Some(builder) = builder_of(qp) {
        builder.exempt.store(exempt, Ordering::Relaxed);
    }
}

fn key_of(qp: *mut c_void) -> u64 {
    qp.expose_provenance() as u64
}

/// The program begins to build; `real` is the provider's `wr_start`. Gives whether its requests
/// are recorded, to be posted after `asked`; with `None`, only if they have to wait for what is
/// deferred on the queue pair already. If not, the caller starts for itself. (Where nothing may be
/// recorded and the provider takes nothing, they are refused: that is told by `wr_complete`.)
///
/// # Safety
/// `qp` is a `struct ibv_qp_ex` that the program starts to build on.
pub(crate) unsafe fn start(real: Start, qp: *mut c_void, asked: Option<Delay>) -> bool {
    let Some(injection) = state::injection() else {
        return false;
    };
    let builder = builder_of(qp);
    let Some(recorder) = builder.filter(|builder| !builder.exempt.load(Ordering::Relaxed)) else {
        let through = settle(|lane| lane.key == key_of(qp), PATIENCE_NS);
        if let (false, Some(builder)) = (through, builder) {
            // A request that is built now may not overtake one that the provider does not take.
            // SAFETY: by the contract of this function.
            unsafe { builder.begin(real, qp, None) };
            return true;
        }
        if let Some(delay) = asked {
            state::wait_out(injection, delay);
        }
        return false;
    };
    if asked.is_none() && !DEFERRED.lock().is_pending(key_of(qp)) {
        return false;
    }
    let delay = asked.unwrap_or_else(|| Delay::none(injection.clock().now()));
    // SAFETY: by the contract of this function.
    unsafe { recorder.begin(real, qp, Some(delay)) };
    true
}

/// # Safety
/// The calling thread has taken the builder, to build on `qp`.
unsafe fn restore(builder: &Builder, qp: *mut c_void) {
    // SAFETY: by the contract of this function; the last of the originals is `wr_abort`.
    unsafe {
        let originals = (*builder.inner.get()).originals;
        for (place, original) in places(qp).zip(originals) {
            place.write(original);
        }
        // The provider has nothing of what was recorded, and gives its lock back.
        std::mem::transmute::<*mut c_void, Start>(originals[PLACES - 1])(qp);
    }
}

/// Stands in the place of the `FUNCTION`-th builder function.
unsafe extern "C" fn record<const FUNCTION: usize>(
    qp: *mut c_void,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
) {
    let Some(builder) = builder_of(qp) else {
        return;
    };
    let pointer = |word: usize| std::ptr::with_exposed_provenance::<u8>(word);
    // SAFETY: the recorder is in place only while the program builds, and has taken the builder;
    // its arguments are what the function of that place takes.
    unsafe {
        let inner = &mut *builder.inner.get();
        let mut call = Call {
            function: FUNCTION,
            id: qp.byte_add(abi::WR_ID_AT).cast::<u64>().read(),
            flags: qp.byte_add(abi::WR_FLAGS_AT).cast::<u32>().read(),
            words: [a, b, c, d],
            copied_at: 4,
            length: 0,
        };
        let at = inner.record.len();
        inner.record.resize(at + CALL_WORDS, 0);
        match FUNCTION {
            builder::BIND_MW => inner.copy(&mut call, 2, &[(pointer(c), abi::BIND_INFO_SIZE)]),
            builder::SEND_TSO => inner.copy(&mut call, 0, &[(pointer(a), b & 0xffff)]),
            builder::SET_INLINE_DATA => inner.copy(&mut call, 0, &[(pointer(a), b)]),
            builder::SET_SGE_LIST => {
                inner.copy(&mut call, 1, &[(pointer(b), a * size_of::<Sge>())]);
            }
            builder::SET_INLINE_DATA_LIST if a > 0 => {
                // Becomes one piece of inline data.
                let list = std::slice::from_raw_parts(pointer(b).cast::<DataBuffer>(), a);
                let parts: Vec<_> = list
                    .iter()
                    .map(|part| (part.address, part.length))
                    .collect();
                call.function = builder::SET_INLINE_DATA;
                call.words[1] = parts.iter().map(|part| part.1).sum();
                inner.copy(&mut call, 0, &parts);
            }
            _ => {}
        }
        inner.record[at..].as_mut_ptr().cast::<Call>().write(call);
    }
}

impl Inner {
    /// Copies `parts`. The `word`-th word of `call` points to them.
    ///
    /// # Safety
    /// The parts are memory that can be read.
    unsafe fn copy(&mut self, call: &mut Call, word: usize, parts: &[(*const u8, usize)]) {
        let bytes: usize = parts.iter().map(|part| part.1).sum();
        call.copied_at = word;
        call.length = bytes.div_ceil(8);
        let at = self.record.len();
        self.record.resize(at + call.length, 0);
        let mut to = self.record[at..].as_mut_ptr().cast::<u8>();
        for &(from, length) in parts {
            // SAFETY: by the contract of this function, into room just made.
            unsafe {
                std::ptr::copy_nonoverlapping(from, to, length);
                to = to.add(length);
            }
        }
    }
}

/// Stands in the place of `wr_complete`.
unsafe extern "C" fn complete(qp: *mut c_void) -> c_int {
    let (Some(injection), Some(builder)) = (state::injection(), builder_of(qp)) else {
        return libc::EINVAL;
    };
    // SAFETY: as for `record`.
    let inner = unsafe { &mut *builder.inner.get() };
    // SAFETY: this thread has the builder.
    unsafe { restore(builder, qp) };
    let (Some(start), Some(delay)) = (inner.start, inner.delay) else {
        builder.release();
        return libc::ENOMEM;
    };
    let built = Built {
        builder,
        qp,
        start,
        record: NonNull::from(inner.record.as_mut_slice()).cast(),
        words: inner.record.len(),
    };
    let mut held = DEFERRED.lock();
    if let Attempt::Told(outcome) = held.defer(built, delay) {
        // The order matters: where no helper can be started, this thread does its work, and needs the
        // builder for it.
        builder.release();
        release(held, injection);
        return outcome;
    }
    // The helper makes room, and needs the builder for that.
    let _record = std::mem::take(&mut inner.record);
    builder.release();
    loop {
        match held.defer(built, delay) {
            Attempt::Told(outcome) => {
                release(held, injection);
                return outcome;
            }
            Attempt::Full => (held, _) = wait_for_progress(held, Some(1_000_000)),
            Attempt::Never => break,
        }
    }
    drop(held);
    // It is performed by itself, after what is pending.
    if !settle(|lane| lane.key == key_of(qp), 0) {
        return libc::ENOMEM;
    }
    state::wait_out(injection, delay);
    builder.take();
    // SAFETY: the builder is taken, and the record is kept until the end.
    let outcome = unsafe { built.replay() };
    builder.release();
    outcome
}

/// The result of an attempt to defer what was recorded.
enum Attempt {
    /// The program is told this.
    Told(c_int),
    /// There is no room before something was performed.
    Full,
    /// It is too long, or there is no lane.
    Never,
}

impl Deferred {
    fn defer(&mut self, built: Built, delay: Delay) -> Attempt {
        let key = key_of(built.qp);
        if let Some(error) = self.take_error(key) {
            return Attempt::Told(error);
        }
        let copied = built.words * 8;
        if copied == 0 {
            return Attempt::Told(0);
        }
        if copied > memory::LARGEST / 2 {
            return Attempt::Never;
        }
        let Some(place) = self.lanes.find_or_make(key) else {
            return Attempt::Never;
        };
        let Some(lane) = self.lanes.get(place) else {
            return Attempt::Never;
        };
        let full = lane.pending > 0 && lane.bytes + copied > LANE_BYTES;
        let (stuck, pending) = (lane.stuck_since.is_some(), lane.pending);
        let taken = if full { None } else { self.take(copied) };
        let Some((entry, copy, block)) = taken else {
            return match (stuck, pending) {
                (_, 0) => Attempt::Never,
                // Nothing more goes into the send queue: the program has to poll for completions first.
                (true, _) => Attempt::Told(libc::ENOMEM),
                (false, _) => Attempt::Full,
            };
        };
        let record = copy.cast::<u64>();
        // SAFETY: the copy has room for the record, and the entry was taken for this.
        unsafe {
            std::ptr::copy_nonoverlapping(built.record.as_ptr(), record.as_ptr(), built.words);
            let work = Work::Built(Built { record, ..built });
            self.put((entry, block), place, delay, work);
        }
        Attempt::Told(0)
    }
}

/// Stands in the place of `wr_abort`.
unsafe extern "C" fn abort(qp: *mut c_void) {
    if let Some(builder) = builder_of(qp) {
        // SAFETY: as for `complete`.
        unsafe { restore(builder, qp) };
        builder.release();
    }
}

impl Builder {
    /// Takes the builder, starts, and puts recorders in place; without a delay, only what ends the
    /// session, and refuses it.
    ///
    /// # Safety
    /// As [`start`].
    unsafe fn begin(&self, real: Start, qp: *mut c_void, delay: Option<Delay>) {
        self.take();
        let first = if delay.is_some() { 0 } else { abi::WR_BUILDERS };
        // SAFETY: the builder is taken, and with the provider's lock, which `wr_start` takes, the
        // structure: another thread that builds without being recorded has that lock.
        unsafe {
            real(qp);
            let inner = &mut *self.inner.get();
            inner.start = Some(real);
            inner.delay = delay;
            inner.record.clear();
            let recorders = places(qp).zip(&mut inner.originals).zip(RECORDERS);
            for (index, ((place, original), recorder)) in recorders.enumerate() {
                *original = place.read();
                // A function that the provider does not offer stays away.
                if !original.is_null() && index >= first {
                    place.write(recorder);
                }
            }
        }
    }

    fn try_take(&self) -> bool {
        !self.taken.swap(true, Ordering::Acquire)
    }

    fn take(&self) {
        while !self.try_take() {
            std::thread::yield_now();
        }
    }

    fn release(&self) {
        self.taken.store(false, Ordering::Release);
    }
}

impl Built {
    /// Posts what was recorded, unless somebody builds on the queue pair.
    pub(super) fn perform(&mut self) -> Outcome {
        if !self.builder.try_take() {
            return Outcome::Later;
        }
        // SAFETY: the builder is taken; the record is in the entry's copy.
        let outcome = unsafe { self.replay() };
        self.builder.release();
        match outcome {
            0 => Outcome::Done,
            // The provider has taken nothing of it.
            error if is_full(error) => Outcome::Later,
            error => Outcome::Failed(error),
        }
    }

    /// Builds on the real queue pair what was recorded, and posts it.
    ///
    /// # Safety
    /// The calling thread has taken the builder, and the record is still there.
    unsafe fn replay(&self) -> c_int {
        // SAFETY: the builder is taken, so the structure has the provider's functions. The record
        // is what `record` wrote, and the program called with these words.
        unsafe {
            (self.start)(self.qp);
            let mut at = 0;
            while at + CALL_WORDS <= self.words {
                let mut call = self.record.add(at).cast::<Call>().read();
                at += CALL_WORDS;
                if let Some(word) = call.words.get_mut(call.copied_at) {
                    *word = self.record.add(at).as_ptr().expose_provenance();
                }
                at += call.length;
                self.qp.byte_add(abi::WR_ID_AT).cast::<u64>().write(call.id);
                let flags = self.qp.byte_add(abi::WR_FLAGS_AT).cast::<u32>();
                flags.write(call.flags);
                let place = self.qp.byte_add(abi::WR_BUILDERS_AT + 8 * call.function);
                let [a, b, c, d] = call.words;
                place.cast::<Build>().read()(self.qp, a, b, c, d);
            }
            let complete = self.qp.byte_add(abi::WR_COMPLETE_AT).cast::<Complete>();
            complete.read()(self.qp)
        }
    }
}

/// The recorder in each place.
const RECORDERS: [*mut c_void; PLACES] = {
    macro_rules! recorders {
        ($($index:literal)*) => {
            [$(record::<$index> as Build as *mut c_void,)*
                complete as Complete as *mut c_void, abort as Start as *mut c_void]
        };
    }
    recorders!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
};
