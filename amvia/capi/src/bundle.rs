//! Bundles and endpoints: made, polled, freed.

use std::ffi::c_char;
use std::time::Duration;

use jitterlab_amvia::transport::{Address, Shm, Udp, Verbs};

use crate::error::{AM_Error, guard};
use crate::handler::refuse_in_handler;
use crate::memory::{self, Out, Room};
use crate::options::AM_Options;
use crate::table::{AM_Bundle, AM_Endpoint};

/// Allocates a bundle, which has no endpoint yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AM_AllocateBundle(bundle: *mut AM_Bundle) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let out = unsafe { Out::new("bundle", bundle) }?;
        out.put(AM_Bundle::make()?);
        Ok(())
    })
}

/// Frees a bundle and its endpoints; waits until a handler that runs has returned. Logs stay. Not from a handler.
#[unsafe(no_mangle)]
pub extern "C" fn AM_FreeBundle(bundle: AM_Bundle) -> AM_Error {
    guard(|| {
        refuse_in_handler()?;
        bundle.free()
    })
}

/// Allocates the endpoint called `name` at an address, and takes up what its log holds. The address is "udp://HOST:PORT",
/// "verbs://HOST:PORT", where port 0 is any free one, or "shm://NAME". `options` may be a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AM_AllocateEndpoint(
    bundle: AM_Bundle,
    name: *const c_char,
    address: *const c_char,
    options: *const AM_Options,
    endpoint: *mut AM_Endpoint,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let (name, address, options, out) = unsafe {
            let name = memory::text("name", name)?;
            let address = memory::text("address", address)?;
            let options = AM_Options::read(options)?;
            (name, address, options, Out::new("endpoint", endpoint)?)
        };
        let held = bundle.get()?;
        let made = match address.parse::<Address>()? {
            Address::Udp(socket) => {
                options.refuse_device()?;
                let mtu = options.mtu(Udp::MTU);
                let chosen = options.options(mtu)?;
                held.endpoint(name, Udp::bind(socket, mtu)?, &chosen)?
            }
            Address::Shm(place) => {
                options.refuse_device()?;
                let mtu = options.mtu(Shm::MTU);
                let chosen = options.options(mtu)?;
                held.endpoint(name, Shm::open(place, mtu)?, &chosen)?
            }
            Address::Verbs(socket) => {
                let mtu = options.mtu(Verbs::MTU);
                let chosen = options.options(mtu)?;
                let transport = Verbs::bind(socket, options.adapter()?, mtu)?;
                held.endpoint(name, transport, &chosen)?
            }
        };
        out.put(AM_Endpoint::of(bundle, made)?);
        Ok(())
    })
}

/// Frees an endpoint, after it is unregistered; waits until a handler of it that runs has returned. Its log stays. Not from a
/// handler.
#[unsafe(no_mangle)]
pub extern "C" fn AM_FreeEndpoint(endpoint: AM_Endpoint) -> AM_Error {
    guard(|| {
        refuse_in_handler()?;
        endpoint.free()
    })
}

/// Takes what has arrived, does what is due, and runs a handler that is due. Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn AM_Poll(bundle: AM_Bundle) -> AM_Error {
    guard(|| {
        bundle.get()?.poll()?;
        Ok(())
    })
}

/// Polls; where nothing was there, waits for something at most so long, and polls again. Returns after a millisecond at the
/// latest: what another thread has done meanwhile is to be looked for.
#[unsafe(no_mangle)]
pub extern "C" fn AM_Wait(bundle: AM_Bundle, at_most: u64) -> AM_Error {
    guard(|| {
        bundle.get()?.wait(Duration::from_nanos(at_most))?;
        Ok(())
    })
}

/// The address by which others reach an endpoint: `room` bytes at `address`, the zero byte at the end among them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_Address(
    endpoint: AM_Endpoint,
    address: *mut c_char,
    room: usize,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let room = unsafe { Room::new("address", address, room) }?;
        room.text(&endpoint.get()?.address()?.to_string())
    })
}

/// The incarnation of an endpoint: it grows with each life.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_Incarnation(
    endpoint: AM_Endpoint,
    incarnation: *mut u32,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let out = unsafe { Out::new("incarnation", incarnation) }?;
        out.put(endpoint.get()?.incarnation()?);
        Ok(())
    })
}
