//! The pages of this process: one for each thread that measures, if somebody follows.

use std::cell::OnceCell;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use jitterlab_base::page::{self, Owner};

use crate::page::{Live, Publisher};
use crate::place;

/// The environment variable by which whoever starts a program asks it to publish: the name of a [`Place`](crate::Place).
pub const PLACE: &str = "JITTERLAB_LIVE";

/// Whether this process follows itself.
static FOLLOWED: AtomicBool = AtomicBool::new(false);
/// The pages so far.
static PAGES: Mutex<Vec<&'static Live>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: OnceCell<Publisher> = const { OnceCell::new() };
}

/// The way to the page of the calling thread, which is made when it is first asked for; to none where nobody follows.
pub fn publisher() -> Publisher {
    OWN.with(|own| *own.get_or_init(make))
}

/// From now on [`publisher`] makes pages whether the environment asks for them or not: this process reads them itself.
pub fn follow_own() {
    FOLLOWED.store(true, Ordering::Relaxed);
}

pub(crate) fn pages() -> Vec<&'static Live> {
    let pages = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
    pages.clone()
}

fn make() -> Publisher {
    let page = match std::env::var(PLACE) {
        Ok(name) => match in_place(&name) {
            Ok(page) => page,
            Err(reason) => {
                // What is measured is worth no less.
                let _ = writeln!(
                    std::io::stderr(),
                    "jitterlab: no live data ({PLACE}={name}): {reason}"
                );
                None
            }
        },
        Err(_) if FOLLOWED.load(Ordering::Relaxed) => page::private(Live::fill).ok(),
        Err(_) => None,
    };
    let mut pages = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
    pages.extend(page);
    Publisher(page)
}

/// A page in the place of this name: `<number of the process>.<n>`.
fn in_place(name: &str) -> Result<Option<&'static Live>, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let Some(place) = place::path(name)? else {
        return Ok(None);
    };
    let owner = Owner::own();
    let process = owner.namespaces.file_name(owner.pid);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let created = page::create(&place.join(format!("{process}.{n}")), Live::fill);
    let created = created.map_err(|error| match std::error::Error::source(&error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    })?;
    Ok(Some(created.page))
}
