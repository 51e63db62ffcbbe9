//! The handlers of the end that answers.

use jitterlab_amvia::endpoint::{Call, Endpoint, EndpointError};

/// The handler that replies with what it gets.
pub const ECHO: u16 = 1;
/// The handler that takes what it gets, and replies with nothing.
pub const TAKE: u16 = 3;

/// Replies with what it got.
pub fn echo(call: &mut Call<'_>) {
    let request = call.bytes();
    // A reply may be as long as a request.
    let _ = call.reply_in_place(0, |reply| reply.extend_from_slice(request));
}

/// Replies with nothing.
pub fn take(call: &mut Call<'_>) {
    let _ = call.reply(&[]);
}

/// Has an endpoint answer.
///
/// # Errors
/// It is closed.
pub fn install(endpoint: &Endpoint) -> Result<(), EndpointError> {
    endpoint.on(ECHO, echo)?;
    endpoint.on(TAKE, take)
}
