//! Messages that are under way while something else is done.

use mpi::Tag;
use mpi::datatype::Equivalence;
use mpi::point_to_point::{Destination as _, Source as _};
use mpi::request::{LocalScope, Request};

use super::Comm;

/// The place at which messages are posted: see [`Comm::post`].
pub struct Posts<'s, 'a> {
    comm: &'s Comm,
    scope: &'s LocalScope<'a>,
}

/// A message under way; its buffer is borrowed until it is waited for.
#[must_use = "a message that was posted has to be waited for"]
pub struct Posted<'s, 'a, T> {
    comm: &'s Comm,
    request: Request<'a, [T], &'s LocalScope<'a>>,
}

impl<'s, 'a> Posts<'s, 'a> {
    pub(super) fn new(comm: &'s Comm, scope: &'s LocalScope<'a>) -> Posts<'s, 'a> {
        Posts { comm, scope }
    }

    /// Begins to send.
    pub fn send<T: Equivalence>(&self, to: usize, tag: Tag, data: &'a [T]) -> Posted<'s, 'a, T> {
        let comm = self.comm;
        let request = comm.account.message(size_of_val(data), || {
            comm.peer(to).immediate_send_with_tag(self.scope, data, tag)
        });
        Posted { comm, request }
    }

    /// Is ready to receive.
    pub fn receive<T: Equivalence>(
        &self,
        from: usize,
        tag: Tag,
        into: &'a mut [T],
    ) -> Posted<'s, 'a, T> {
        let comm = self.comm;
        let request = comm.account.wait(|| {
            comm.peer(from)
                .immediate_receive_into_with_tag(self.scope, into, tag)
        });
        Posted { comm, request }
    }
}

impl<T> Posted<'_, '_, T> {
    /// Until it is sent or here.
    pub fn wait(self) {
        self.comm
            .account
            .wait(|| self.request.wait_without_status());
    }
}
