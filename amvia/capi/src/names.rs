//! The name server.

use std::ffi::c_char;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use jitterlab_amvia::names::{Client, Keeper, Key, LEASE, Name, Registration};
use jitterlab_amvia::transaction::Incarnation;

use crate::error::{AM_Error, Failure, guard};
use crate::memory::{self, Room};
use crate::table::AM_Endpoint;

fn client(server: &str, key: &str, at_most: u64) -> Result<Client, Failure> {
    let server: SocketAddr = server.parse().map_err(|_| {
        let text = format!(
            "`{server}` is not the address of a name server: HOST:PORT, HOST being an IP address"
        );
        Failure::new(AM_Error::AM_ERR_ADDRESS, text)
    })?;
    let key = Key::read(Path::new(key))?;
    Ok(Client::new(server, key, Duration::from_nanos(at_most)))
}

/// Registers an endpoint by its name and address with the name server at "HOST:PORT", and keeps it registered: a thread renews
/// the lease until the endpoint is freed. `key` is the file with the key of the cluster. A `lease` of 0 is one of 30 s.
/// `at_most` is how long the server is waited for, now and when the endpoint is freed. An endpoint that is registered leaves
/// the server before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_RegisterEndpoint(
    endpoint: AM_Endpoint,
    server: *const c_char,
    key: *const c_char,
    lease: u64,
    at_most: u64,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let (server, key) = unsafe { (memory::text("server", server)?, memory::text("key", key)?) };
        let held = endpoint.held()?;
        let endpoint = endpoint.get()?;
        let client = client(server, key, at_most)?;
        let address = endpoint.address()?;
        let registration = Registration {
            name: endpoint.name().parse()?,
            address,
            incarnation: Incarnation(endpoint.incarnation()?),
            lease: match lease {
                0 => LEASE,
                lease => Duration::from_nanos(lease),
            },
        };
        let mut keeper = held.keeper();
        drop(keeper.take());
        *keeper = Some(Keeper::start(client, registration)?);
        Ok(())
    })
}

/// Says whether an endpoint is kept registered: fails as the last renewal has failed, which is told once.
#[unsafe(no_mangle)]
pub extern "C" fn AMVIA_CheckRegistration(endpoint: AM_Endpoint) -> AM_Error {
    guard(|| {
        let held = endpoint.held()?;
        let keeper = held.keeper();
        let keeper = keeper.as_ref().ok_or_else(|| {
            let text = "the endpoint was not registered: AMVIA_RegisterEndpoint()";
            Failure::new(AM_Error::AM_ERR_NOT_FOUND, text)
        })?;
        keeper.trouble().map_or(Ok(()), |error| Err(error.into()))
    })
}

/// Asks the name server at "HOST:PORT" where the endpoint called `name` is: `room` bytes at `address`, the zero byte at the
/// end among them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_LookUp(
    server: *const c_char,
    key: *const c_char,
    name: *const c_char,
    at_most: u64,
    address: *mut c_char,
    room: usize,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let (server, key, name, room) = unsafe {
            let server = memory::text("server", server)?;
            let key = memory::text("key", key)?;
            let name = memory::text("name", name)?;
            (server, key, name, Room::new("address", address, room)?)
        };
        let name: Name = name.parse()?;
        let found = client(server, key, at_most)?.look_up(&name)?;
        let found = found.ok_or_else(|| {
            let text = format!("`{name}` is not registered with {server}");
            Failure::new(AM_Error::AM_ERR_NOT_FOUND, text)
        })?;
        room.text(&found.address.to_string())
    })
}
