//! What hinders a function: its code, and the sentence behind it.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use jitterlab_amvia::endpoint::{EndpointError, ReplyError};
use jitterlab_amvia::log::LogError;
use jitterlab_amvia::names::{KeyError, NameError, NamesError};
use jitterlab_amvia::protocol::{RequestError, SlotError};
use jitterlab_amvia::transport::{AddressError, TransportError};
use jitterlab_base::show;

/// What hindered a function.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AM_Error {
    /// Nothing.
    AM_OK = 0,
    /// A pointer is null.
    AM_ERR_NULL = 1,
    /// A text is not UTF-8.
    AM_ERR_TEXT = 2,
    /// The size of a structure is none that this library knows.
    AM_ERR_SIZE = 3,
    /// There is no such bundle or endpoint, or it was freed.
    AM_ERR_HANDLE = 4,
    /// The token is not that of a handler that runs on this thread.
    AM_ERR_TOKEN = 5,
    /// The process is a child of the one that allocated what is used.
    AM_ERR_FORKED = 6,
    /// A handler of this thread, or what fills a request, has not returned.
    AM_ERR_IN_HANDLER = 7,
    /// A name is none.
    AM_ERR_NAME = 8,
    /// An address is none, or is of another transport.
    AM_ERR_ADDRESS = 9,
    /// An option is out of its range, or contradicts another; 0 is no number of a handler.
    AM_ERR_OPTION = 10,
    /// There is no room for another peer, or for another name at the name server.
    AM_ERR_FULL = 11,
    /// There is no such peer.
    AM_ERR_NOT_CONNECTED = 12,
    /// The peer or the name server does not answer.
    AM_ERR_NO_ANSWER = 13,
    /// The peer refuses to be connected.
    AM_ERR_REFUSED = 14,
    /// As many transactions as the window holds are not released.
    AM_ERR_NO_CREDIT = 15,
    /// The message is longer than the peer takes.
    AM_ERR_TOO_LONG = 16,
    /// The transaction was released, or is of another endpoint.
    AM_ERR_RELEASED = 17,
    /// The transaction is under way.
    AM_ERR_UNDER_WAY = 18,
    /// What became of the transaction is known.
    AM_ERR_KNOWN = 19,
    /// There is no room for the answer.
    AM_ERR_SPACE = 20,
    /// The log cannot be opened or set aside, or is broken.
    AM_ERR_LOG = 21,
    /// The transport cannot be opened, or is broken.
    AM_ERR_TRANSPORT = 22,
    /// The system refuses.
    AM_ERR_SYSTEM = 23,
    /// The key of the cluster cannot be read.
    AM_ERR_KEY = 24,
    /// Another endpoint has the name, or a later life of this one.
    AM_ERR_NAME_TAKEN = 25,
    /// The name is not registered.
    AM_ERR_NOT_FOUND = 26,
    /// A fault of the library. What was called may be half done.
    AM_ERR_FAULT = 27,
}

/// What hindered a function, and the sentence that tells it.
#[derive(Debug)]
pub(crate) struct Failure {
    code: AM_Error,
    text: String,
}

impl Failure {
    pub(crate) fn new(code: AM_Error, text: impl Into<String>) -> Self {
        Failure {
            code,
            text: text.into(),
        }
    }

    /// An error with its causes.
    fn of(code: AM_Error, error: &dyn Error) -> Self {
        Failure::new(code, show::causes(error))
    }
}

impl From<EndpointError> for Failure {
    fn from(error: EndpointError) -> Self {
        let code = match &error {
            EndpointError::Forked => AM_Error::AM_ERR_FORKED,
            EndpointError::Closed => AM_Error::AM_ERR_HANDLE,
            EndpointError::Name(_) => AM_Error::AM_ERR_NAME,
            EndpointError::Config(_) | EndpointError::Durability(_) => AM_Error::AM_ERR_OPTION,
            EndpointError::Full(_) => AM_Error::AM_ERR_FULL,
            EndpointError::Torn(_) | EndpointError::Recover(_) => AM_Error::AM_ERR_LOG,
            EndpointError::NotConnected(_) => AM_Error::AM_ERR_NOT_CONNECTED,
            EndpointError::NoAnswer { .. } => AM_Error::AM_ERR_NO_ANSWER,
            EndpointError::Refused { .. } => AM_Error::AM_ERR_REFUSED,
            EndpointError::Request(RequestError::NoCredit) => AM_Error::AM_ERR_NO_CREDIT,
            EndpointError::Request(RequestError::TooLong { .. }) => AM_Error::AM_ERR_TOO_LONG,
            EndpointError::Released => AM_Error::AM_ERR_RELEASED,
            EndpointError::Slot(error) => match error {
                SlotError::Empty(_) => AM_Error::AM_ERR_RELEASED,
                SlotError::UnderWay(_) => AM_Error::AM_ERR_UNDER_WAY,
                SlotError::Known(_) => AM_Error::AM_ERR_KNOWN,
                SlotError::NotRunning(_) => AM_Error::AM_ERR_FAULT,
                SlotError::TooLong { .. } => AM_Error::AM_ERR_TOO_LONG,
            },
            EndpointError::InHandler => AM_Error::AM_ERR_IN_HANDLER,
            EndpointError::Transport(error) => of_transport(error),
            EndpointError::Log(LogError::Shape { .. }) => AM_Error::AM_ERR_OPTION,
            EndpointError::Log(_) => AM_Error::AM_ERR_LOG,
            EndpointError::System { .. } => AM_Error::AM_ERR_SYSTEM,
        };
        Failure::of(code, &error)
    }
}

fn of_transport(error: &TransportError) -> AM_Error {
    match error {
        TransportError::Foreign { .. } => AM_Error::AM_ERR_ADDRESS,
        TransportError::Mtu { .. } => AM_Error::AM_ERR_OPTION,
        TransportError::Crowded { .. } => AM_Error::AM_ERR_FULL,
        _ => AM_Error::AM_ERR_TRANSPORT,
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Failure::of(AM_Error::AM_ERR_LOG, &error)
    }
}

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Self {
        Failure::of(of_transport(&error), &error)
    }
}

impl From<AddressError> for Failure {
    fn from(error: AddressError) -> Self {
        Failure::of(AM_Error::AM_ERR_ADDRESS, &error)
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        Failure::of(AM_Error::AM_ERR_NAME, &error)
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Failure::of(AM_Error::AM_ERR_KEY, &error)
    }
}

impl From<NamesError> for Failure {
    fn from(error: NamesError) -> Self {
        let code = match &error {
            NamesError::Silent { .. } | NamesError::Nonsense { .. } => AM_Error::AM_ERR_NO_ANSWER,
            NamesError::Outlived { .. }
            | NamesError::InUse { .. }
            | NamesError::Collision { .. } => AM_Error::AM_ERR_NAME_TAKEN,
            NamesError::Full { .. } => AM_Error::AM_ERR_FULL,
            NamesError::BadLease { .. } => AM_Error::AM_ERR_OPTION,
            NamesError::Unreachable { .. } => AM_Error::AM_ERR_ADDRESS,
            NamesError::System { .. } => AM_Error::AM_ERR_SYSTEM,
        };
        Failure::of(code, &error)
    }
}

impl From<ReplyError> for Failure {
    fn from(error: ReplyError) -> Self {
        Failure::of(AM_Error::AM_ERR_TOO_LONG, &error)
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

thread_local! {
    /// The program fills a request on this thread, for which its bundle waits.
    static FILLS: Cell<bool> = const { Cell::new(false) };
}

/// Lets the program fill a request. Calls that it makes meanwhile are refused: the bundle would wait for itself.
pub(crate) fn filling(fill: impl FnOnce()) {
    FILLS.set(true);
    fill();
    FILLS.set(false);
}

/// Runs the body of a function. No panic leaves it.
pub(crate) fn guard(body: impl FnOnce() -> Result<(), Failure>) -> AM_Error {
    let body = || match FILLS.get() {
        false => body(),
        true => Err(Failure::new(
            AM_Error::AM_ERR_IN_HANDLER,
            "what fills a request calls nothing of the library",
        )),
    };
    let ended = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let said = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        let text = format!("a fault of libamvia: {}", said.unwrap_or("no word of it"));
        Err(Failure::new(AM_Error::AM_ERR_FAULT, text))
    });
    match ended {
        Ok(()) => AM_Error::AM_OK,
        Err(failure) => {
            let text = failure.text.replace('\0', "?");
            let text = CString::new(text).unwrap_or_default();
            // A thread that ends has no place for it any more.
            let _ = LAST.try_with(|last| last.replace(text));
            failure.code
        }
    }
}

/// Why the last function that failed on this thread has failed: a sentence. Empty if none has. The text is there until the
/// next failure on this thread, or its end.
#[unsafe(no_mangle)]
pub extern "C" fn AMVIA_LastError() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn a_panic_is_a_code_and_a_sentence() {
        let code = guard(|| panic!("slot {} is gone", 7));
        assert_eq!(code, AM_Error::AM_ERR_FAULT);
        // SAFETY: the text is that of the failure just now, on this thread.
        let text = unsafe { CStr::from_ptr(AMVIA_LastError()) };
        assert_eq!(text, c"a fault of libamvia: slot 7 is gone");
    }
}
