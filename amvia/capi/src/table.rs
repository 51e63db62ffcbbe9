//! The table behind the handles. A number is never used twice, so a handle that was freed is known as such.

use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use jitterlab_amvia::endpoint::{Bundle, Endpoint, EndpointError};
use jitterlab_amvia::names::Keeper;
use jitterlab_base::fork::Parent;

use crate::error::{AM_Error, Failure};

/// Endpoints that are polled together.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AM_Bundle {
    /// Its number in this process; 0 is none.
    pub number: u64,
}

/// An endpoint.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AM_Endpoint {
    /// Its number in this process; 0 is none.
    pub number: u64,
}

/// An endpoint that C holds.
pub(crate) struct Held {
    bundle: u64,
    endpoint: Endpoint,
    gate: Arc<Gate>,
    keeper: Mutex<Option<Keeper>>,
}

impl Held {
    /// What keeps the endpoint registered.
    pub(crate) fn keeper(&self) -> MutexGuard<'_, Option<Keeper>> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way to the handlers of an endpoint: locked while one runs; true once it was freed.
pub(crate) type Gate = Mutex<bool>;

#[derive(Clone)]
enum Handle {
    Bundle(Bundle),
    Endpoint(Arc<Held>),
}

/// The handles of one process.
struct Table {
    parent: Parent,
    /// Smaller numbers are those of its parents.
    since: u64,
    handles: RwLock<HashMap<u64, Handle>>,
}

/// The table of this process, or of a parent of it. It is never freed: a child must not wait for a lock that a thread of its
/// parent holds.
static TABLE: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());
static NEXT: AtomicU64 = AtomicU64::new(1);

fn unknown(number: u64) -> Failure {
    let text = format!("there is no handle {number} of this kind: it was freed, or never given");
    Failure::new(AM_Error::AM_ERR_HANDLE, text)
}

impl Table {
    fn present() -> Option<&'static Table> {
        // SAFETY: null, or a table that `of_this_process` has leaked.
        unsafe { TABLE.load(Ordering::Acquire).as_ref() }
    }

    /// The table that has a handle.
    fn of(number: u64) -> Result<&'static Table, Failure> {
        let table = Table::present().ok_or_else(|| unknown(number))?;
        if !table.parent.is_caller() || (1..table.since).contains(&number) {
            return Err(EndpointError::Forked.into());
        }
        Ok(table)
    }

    /// The table of this process, which is made where there is none.
    fn of_this_process() -> Result<&'static Table, Failure> {
        let present = Table::present();
        if let Some(table) = present.filter(|table| table.parent.is_caller()) {
            return Ok(table);
        }
        let parent = Parent::mark().map_err(|source| EndpointError::System {
            action: "get memory that a child finds wiped",
            source,
        })?;
        let made = Box::into_raw(Box::new(Table {
            parent,
            since: NEXT.load(Ordering::Relaxed),
            handles: RwLock::default(),
        }));
        let before = present.map_or(ptr::null_mut(), |table| ptr::from_ref(table).cast_mut());
        match TABLE.compare_exchange(before, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: it is leaked now.
            Ok(_) => Ok(unsafe { &*made }),
            Err(other) => {
                // SAFETY: nobody has seen it but this thread; the other was leaked by another thread of this process.
                unsafe {
                    drop(Box::from_raw(made));
                    Ok(&*other)
                }
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<u64, Handle>> {
        self.handles.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, handle: Handle) -> u64 {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut handles = self.handles.write().unwrap_or_else(PoisonError::into_inner);
        handles.insert(number, handle);
        number
    }

    fn remove(&self, number: u64) {
        let mut handles = self.handles.write().unwrap_or_else(PoisonError::into_inner);
        handles.remove(&number);
    }
}

/// Refuses a child of the process that has allocated what is used.
pub(crate) fn refuse_in_child() -> Result<(), Failure> {
    match Table::present() {
        Some(table) if !table.parent.is_caller() => Err(EndpointError::Forked.into()),
        _ => Ok(()),
    }
}

impl AM_Bundle {
    /// Gives a bundle a handle.
    pub(crate) fn make() -> Result<AM_Bundle, Failure> {
        let table = Table::of_this_process()?;
        let number = table.add(Handle::Bundle(Bundle::new()?));
        Ok(AM_Bundle { number })
    }

    pub(crate) fn get(self) -> Result<Bundle, Failure> {
        match Table::of(self.number)?.read().get(&self.number) {
            Some(Handle::Bundle(bundle)) => Ok(bundle.clone()),
            _ => Err(unknown(self.number)),
        }
    }

    /// Frees its endpoints, and then the bundle.
    pub(crate) fn free(self) -> Result<(), Failure> {
        self.get()?;
        let table = Table::of(self.number)?;
        let mine: Vec<u64> = table
            .read()
            .iter()
            .filter(|(_, handle)| match handle {
                Handle::Endpoint(held) => held.bundle == self.number,
                Handle::Bundle(_) => false,
            })
            .map(|(number, _)| *number)
            .collect();
        for number in mine {
            // One that another thread frees meanwhile is freed.
            let _ = AM_Endpoint { number }.free();
        }
        table.remove(self.number);
        Ok(())
    }
}

impl AM_Endpoint {
    /// Gives an endpoint of a bundle a handle.
    pub(crate) fn of(bundle: AM_Bundle, endpoint: Endpoint) -> Result<AM_Endpoint, Failure> {
        let table = Table::of(bundle.number)?;
        let number = table.add(Handle::Endpoint(Arc::new(Held {
            bundle: bundle.number,
            endpoint,
            gate: Arc::default(),
            keeper: Mutex::default(),
        })));
        Ok(AM_Endpoint { number })
    }

    pub(crate) fn held(self) -> Result<Arc<Held>, Failure> {
        match Table::of(self.number)?.read().get(&self.number) {
            Some(Handle::Endpoint(held)) => Ok(Arc::clone(held)),
            _ => Err(unknown(self.number)),
        }
    }

    pub(crate) fn get(self) -> Result<Endpoint, Failure> {
        Ok(self.held()?.endpoint.clone())
    }

    pub(crate) fn gate(self) -> Result<Arc<Gate>, Failure> {
        Ok(Arc::clone(&self.held()?.gate))
    }

    /// Unregisters and closes the endpoint, and waits until a handler of it that runs has returned.
    pub(crate) fn free(self) -> Result<(), Failure> {
        let held = self.held()?;
        drop(held.keeper().take());
        let closed = held.endpoint.clone().close();
        *held.gate.lock().unwrap_or_else(PoisonError::into_inner) = true;
        Table::of(self.number)?.remove(self.number);
        Ok(closed?)
    }
}
