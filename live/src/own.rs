//! The pages of this process: one for each thread that measures, if somebody follows.

use std::cell::OnceCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use jitterlab_base::page::{self, Owner};

use crate::page::{Live, Publisher};
use crate::place::{self, Place};

/// The environment variable that asks a program to publish. Whoever starts it sets this to the name of a [`Place`](crate::Place).
pub const PLACE: &str = "JITTERLAB_LIVE";

/// Set where this process follows itself: the place of its pages, if there is one.
static FOLLOWED: OnceLock<Option<PathBuf>> = OnceLock::new();
/// The pages so far.
static PAGES: Mutex<Vec<&'static Live>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: OnceCell<Publisher> = const { OnceCell::new() };
}

/// The way to the page of the calling thread, which is made when it is first asked for; to none where nobody follows.
pub fn publisher() -> Publisher {
    OWN.with(|own| *own.get_or_init(make))
}

/// A process that follows itself. The place where others see its pages goes with this value.
#[must_use]
#[derive(Debug)]
pub struct Followed {
    _place: Option<Place>,
}

/// Makes [`publisher`] publish to pages from now on, even if the environment does not ask for it: this process reads them itself.
/// They are in a place of its own, where others find them ([`Place::of_programs`]); where none can be made, in memory of its own.
pub fn follow_own() -> Followed {
    let place = Place::of_own().ok();
    let path = place.as_ref().map(|place| place.path().to_path_buf());
    // One who follows itself already goes on as it does.
    let kept = FOLLOWED.set(path).is_ok();
    Followed {
        _place: place.filter(|_| kept),
    }
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
                // The measurement is worth no less.
                let _ = writeln!(
                    std::io::stderr(),
                    "jitterlab: no live data ({PLACE}={name}): {reason}"
                );
                None
            }
        },
        Err(_) => FOLLOWED.get().and_then(|place| {
            let own = place.as_deref().and_then(|place| page_in(place).ok());
            own.or_else(|| page::private(Live::fill).ok())
        }),
    };
    let mut pages = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
    pages.extend(page);
    Publisher(page)
}

/// A page in the place of this name.
fn in_place(name: &str) -> Result<Option<&'static Live>, String> {
    match place::path(name)? {
        Some(place) => page_in(&place).map(Some),
        None => Ok(None),
    }
}

/// A page in a place: `<number of the process>.<n>`.
fn page_in(place: &Path) -> Result<&'static Live, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let owner = Owner::own();
    let process = owner.namespaces.file_name(owner.pid);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let created = page::create(&place.join(format!("{process}.{n}")), Live::fill);
    let created = created.map_err(|error| match std::error::Error::source(&error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    })?;
    Ok(created.page)
}
