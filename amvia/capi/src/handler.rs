//! Handlers in C, and the token by which one speaks of the message that it runs for.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use jitterlab_amvia::endpoint::Call;

use crate::error::{AM_Error, Failure, guard};
use crate::memory::{self, Out};
use crate::request::AM_TransactionId;
use crate::table::{AM_Endpoint, refuse_in_child};

/// The message that a handler runs for. It holds in this run of the handler and on its thread.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AM_Token {
    /// Its number; 0 is none.
    pub number: u64,
}

/// A function that runs when a message arrives. `data` has `length` bytes, where they landed; they are there until it
/// returns.
pub type AM_Handler = Option<
    unsafe extern "C-unwind" fn(
        token: AM_Token,
        data: *const c_void,
        length: usize,
        context: *mut c_void,
    ),
>;

/// What C gave with a handler.
struct Context(*mut c_void);

// SAFETY: it is handed to the program's own handler and nothing else; that handlers run on any thread is said in amvia.h.
unsafe impl Send for Context {}

impl Context {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

thread_local! {
    /// The handlers of C that run on this thread, the innermost last: one of another bundle may run in one that polls it.
    static RUNNING: RefCell<Vec<(AM_Token, NonNull<Call<'static>>)>> = const { RefCell::new(Vec::new()) };
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// The run of a handler, until it is dropped.
struct Run(AM_Token);

impl Run {
    fn begin(call: &mut Call<'_>) -> Run {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let token = AM_Token { number };
        // The lifetime is the run's: `Run` takes the pointer away before the call ends.
        let call = NonNull::from(call).cast::<Call<'static>>();
        RUNNING.with_borrow_mut(|running| running.push((token, call)));
        Run(token)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(|running| running.retain(|(token, _)| *token != self.0));
    }
}

/// A handler of C runs on this thread.
pub(crate) fn refuse_in_handler() -> Result<(), Failure> {
    match RUNNING.with_borrow(Vec::is_empty) {
        true => Ok(()),
        false => Err(Failure::new(
            AM_Error::AM_ERR_IN_HANDLER,
            "a handler cannot free: do it when it has returned",
        )),
    }
}

impl AM_Token {
    /// Gives the message of the token to `work`.
    fn with<T>(self, work: impl FnOnce(&mut Call<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        refuse_in_child()?;
        let found = RUNNING.with_borrow(|running| {
            let mut running = running.iter();
            running.find(|(token, _)| *token == self).copied()
        });
        let (_, mut call) = found.ok_or_else(|| {
            let text = "the token is not that of a handler that runs on this thread";
            Failure::new(AM_Error::AM_ERR_TOKEN, text)
        })?;
        // SAFETY: the run that the token stands for has not ended, so the call is there, and the frame that lent it, of this
        // same thread, does not touch it before the handler has returned. `work` calls nothing of C, so that no second
        // reference to it is made.
        work(unsafe { call.as_mut() })
    }
}

/// Has `handler` run on messages for `number`, which is not 0, in place of the handler before. The one before does not begin
/// any more; it may still run on another thread. `context` is given to the handler, and has to hold until the endpoint is
/// freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AM_SetHandler(
    endpoint: AM_Endpoint,
    number: u16,
    handler: AM_Handler,
    context: *mut c_void,
) -> AM_Error {
    guard(|| {
        let handler = handler
            .ok_or_else(|| Failure::new(AM_Error::AM_ERR_NULL, "the handler is a null pointer"))?;
        if number == 0 {
            let text = "0 is no number of a handler: it stands for none";
            return Err(Failure::new(AM_Error::AM_ERR_OPTION, text));
        }
        let context = Context(context);
        let gate = endpoint.gate()?;
        endpoint.get()?.on(number, move |call| {
            let is_freed = gate.lock().unwrap_or_else(PoisonError::into_inner);
            if *is_freed {
                return;
            }
            let (data, length) = (call.bytes().as_ptr(), call.bytes().len());
            let run = Run::begin(call);
            // SAFETY: the program has promised that this is a handler, and that it may be called with this context until
            // its endpoint is freed, for which the gate is waited for. The data outlives the call. What unwinds out of it
            // passes frames of Rust alone, up to where handlers are run.
            unsafe { handler(run.0, data.cast(), length, context.get()) }
        })?;
        Ok(())
    })
}

/// Replies with `length` bytes when the handler has returned. A second reply takes the place of the first; without one an
/// empty reply goes out. `handler` is the one that runs at the initiator on the reply; 0 is none. In the handler of a reply it
/// does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AM_Reply(
    token: AM_Token,
    handler: u16,
    data: *const c_void,
    length: usize,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let bytes = unsafe { memory::bytes(data, length) }?;
        token.with(|call| Ok(call.reply_to(handler, bytes)?))
    })
}

/// Releases the transaction when the handler of its reply has returned: AMVIA_Release() from inside. In the handler of a
/// request it does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn AMVIA_ReleaseReply(token: AM_Token) -> AM_Error {
    guard(|| {
        token.with(|call| {
            call.release();
            Ok(())
        })
    })
}

/// The sender of the message (the hash of the endpoint's name), and the transaction that it belongs to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_Identify(
    token: AM_Token,
    from: *mut u64,
    transaction: *mut AM_TransactionId,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let (from, id) = unsafe {
            let from = Out::new("from", from)?;
            (from, Out::new("transaction", transaction)?)
        };
        token.with(|call| {
            from.put(call.from().0);
            id.put(call.transaction().into());
            Ok(())
        })
    })
}
