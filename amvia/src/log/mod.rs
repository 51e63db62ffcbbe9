//! The log of an endpoint: what it has sent and received, kept where a crash of the process leaves it.
//!
//! A log has a send pool and a receive pool (Kaur, section 3.2.3) of slots of fixed size. A slot holds one record: the
//! transaction, its state, and a payload. The payload is written where it stays ([`Log::payload_mut`]), so there is one copy
//! of it, and [`Log::commit`] makes it hold together with the record. A process that opens the log later finds the last record that
//! was committed to each slot ([`Log::records`]), wherever the process was killed.
//! A commit allocates nothing. It makes a system call with [`Durability::Power`] alone.
//!
//! A log belongs to one process at a time. A child of that process must not use it.

mod error;
mod file;
mod head;
mod map;
mod peers;
mod record;
mod shape;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use std::time::{Duration, SystemTime};

use zerocopy::FromBytes;

pub use error::LogError;
pub use file::{Snapshot, look, set_aside};
pub use peers::Known;
pub use record::Record;
pub use shape::{Place, Pool, Shape};

use crate::transaction::{EndpointId, Incarnation};
use map::Map;
use record::{Committed, HALF, Slot};

/// The failures that a log survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Nothing: the log is memory of the process.
    None,
    /// The end of the process, by kill -9 too: the log is a mapped file, whose pages the kernel keeps.
    Process,
    /// A power cut: each commit waits for the disk.
    Power,
}

jitterlab_base::named!(Durability, "a durability", None => "none", Process => "process", Power => "power");

/// The content of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'a> {
    /// Nothing, or what was there is freed.
    Empty,
    /// The record that was committed last, and its payload.
    Whole(Record, &'a [u8]),
    /// The slot is damaged: what was committed last is not known. Kills of the process leave none of this.
    Torn,
}

/// The fate of the payload in a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// The payload of the record before stays.
    Kept,
    /// The payload is the first bytes, so many, of what [`Log::payload_mut`] was filled with.
    Written(usize),
}

/// The pools of one endpoint.
pub struct Log {
    map: Map,
    /// The file, locked; none for a log in memory.
    file: Option<(PathBuf, nix::fcntl::Flock<std::fs::File>)>,
    endpoint: u64,
    incarnation: u32,
    since: u32,
    shape: Shape,
    /// Bytes of an area for a payload.
    area_bytes: usize,
    durability: Durability,
    /// The record that holds in each slot; none where it is torn.
    slots: Vec<Option<Held>>,
    watch: Option<Box<dyn FnMut() + Send>>,
}

/// The record that holds in a slot, as far as the next commit needs it.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    version: u32,
    payload: record::Payload,
}

impl Log {
    /// A log in memory. `incarnation` has to be above that of every earlier life of the endpoint: [`incarnation_by_clock`].
    ///
    /// # Errors
    /// The shape is out of range, or there is no memory.
    pub fn in_memory(endpoint: u64, shape: Shape, incarnation: u32) -> Result<Log, LogError> {
        if !shape.fits() {
            return Err(LogError::Shape { shape });
        }
        let map = Map::anonymous(shape.bytes()).map_err(|source| LogError::System {
            action: "get memory for a",
            path: PathBuf::new(),
            source,
        })?;
        Ok(Log {
            map,
            file: None,
            endpoint,
            incarnation,
            since: incarnation,
            shape,
            area_bytes: record::area_bytes(shape.payload as usize),
            durability: Durability::None,
            slots: vec![Some(Held::default()); shape.slots()],
            watch: None,
        })
    }

    /// Opens the endpoint's log in the file at `path`, or makes it, with the folders above it; its incarnation grows by one.
    /// The file is readable by its user alone, folders that are made are, too. With [`Durability::None`] no file is touched.
    ///
    /// # Errors
    /// Another process has it open; the file is no log, is damaged, is one of another endpoint, shape or format, or can be
    /// used by others; the disk is full; the system refuses. A file that is there is then as it was.
    pub fn open(
        path: &Path,
        endpoint: u64,
        shape: Shape,
        durability: Durability,
    ) -> Result<Log, LogError> {
        if durability == Durability::None {
            return Log::in_memory(endpoint, shape, incarnation_by_clock());
        }
        let file::Opened {
            mut map,
            file,
            incarnation,
            since,
        } = file::open(path, endpoint, shape, durability)?;
        let incarnation = incarnation
            .checked_add(1)
            .ok_or_else(|| LogError::Damaged { path: path.into() })?;
        store_word(
            &mut map,
            head::INCARNATION,
            record::commit_word(incarnation),
        );
        let mut log = Log {
            map,
            file: Some((path.into(), file)),
            endpoint,
            incarnation,
            since,
            shape,
            area_bytes: record::area_bytes(shape.payload as usize),
            durability,
            slots: Vec::new(),
            watch: None,
        };
        log.sync(0, shape::HEAD)?;
        log.slots = (0..shape.slots())
            .map(|index| match log.read(index) {
                Slot::New => Some(Held::default()),
                Slot::Holds(committed) => Some(Held {
                    version: committed.version,
                    payload: committed.payload,
                }),
                Slot::Torn => None,
            })
            .collect();
        Ok(log)
    }

    /// The endpoint that the log belongs to.
    pub fn endpoint(&self) -> u64 {
        self.endpoint
    }

    /// The endpoint's present life.
    pub fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// The life since which the log has no gap for a peer without a number. It is the life in which the log was made, or
    /// had its last [`Log::renew`].
    pub fn since(&self) -> u32 {
        self.since
    }

    /// Begins a life of the endpoint without its process ending, since which the log has no gap: a peer is forgotten that may
    /// still ask. Gives the new incarnation.
    ///
    /// # Errors
    /// There are no numbers left, or the disk refuses ([`Durability::Power`]).
    pub fn renew(&mut self) -> Result<u32, LogError> {
        let next = self.incarnation.checked_add(1);
        let next = next.ok_or_else(|| LogError::Damaged { path: self.path() })?;
        // The order matters: a process that is killed between the two begins its next life with this number.
        for at in [head::SINCE, head::INCARNATION] {
            store_word(&mut self.map, at, record::commit_word(next));
            self.watched();
        }
        self.sync(0, shape::HEAD)?;
        (self.incarnation, self.since) = (next, next);
        Ok(next)
    }

    /// The peer that has a number; none where the number is free.
    ///
    /// # Errors
    /// The entry is damaged.
    ///
    /// # Panics
    /// There is no such number.
    pub fn peer(&self, number: u32) -> Result<Option<Known>, LogError> {
        Known::read(self.entry(number)).ok_or_else(|| LogError::DamagedPeer {
            path: self.path(),
            number,
        })
    }

    /// An entry in the table of peers.
    fn entry(&self, number: u32) -> &[u8] {
        &self.map[self.shape.entry(number)..][..peers::ENTRY]
    }

    /// Gives a number that is free to a peer, which is remembered from now on.
    ///
    /// # Errors
    /// The disk refuses ([`Durability::Power`]).
    ///
    /// # Panics
    /// There is no such number.
    pub fn take_in(&mut self, number: u32, peer: EndpointId) -> Result<(), LogError> {
        let since = Incarnation(self.since);
        let [first, second] = Known { peer, since }.encode();
        let at = self.shape.entry(number);
        // The order matters: a process that is killed before the last store leaves the number free, whatever was there.
        store_word(&mut self.map, at, 0);
        self.watched();
        self.clear(number)?;
        for (at, word) in [(at + 8, second), (at, first)] {
            store_word(&mut self.map, at, word);
            self.watched();
        }
        self.sync(at, peers::ENTRY)
    }

    /// Forgets the peer of a number, with its records; the number is free then. What the peer may still ask for is gone, so a
    /// life begins ([`Log::renew`]). Other peers are remembered as before. A process that is killed in here leaves the peer with
    /// all its records, or a free number; records that are left at a free number are nobody's.
    ///
    /// # Errors
    /// There are no numbers of lives left, or the disk refuses ([`Durability::Power`]).
    ///
    /// # Panics
    /// There is no such number.
    pub fn forget(&mut self, number: u32) -> Result<(), LogError> {
        self.renew()?;
        let at = self.shape.entry(number);
        let [known, _] = peers::words(self.entry(number));
        store_word(&mut self.map, at, 0);
        self.watched();
        if let Err(error) = self.sync(at, peers::ENTRY) {
            // It is remembered as before.
            store_word(&mut self.map, at, known);
            return Err(error);
        }
        // A slot that cannot be freed now is nobody's, and is freed before another peer gets the number.
        let _ = self.clear(number);
        Ok(())
    }

    /// Frees all places of a number.
    ///
    /// # Errors
    /// The disk refuses ([`Durability::Power`]).
    pub fn clear(&mut self, number: u32) -> Result<(), LogError> {
        for place in self.shape.places_of(number) {
            if self.record(place) != Found::Empty {
                self.free(place)?;
            }
        }
        Ok(())
    }

    /// Its sizes.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The failures that it survives.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// The content of each place.
    pub fn records(&self) -> impl Iterator<Item = (Place, Found<'_>)> {
        self.shape.places().map(|place| (place, self.record(place)))
    }

    /// The content of a place, checked against its checksums.
    ///
    /// # Panics
    /// There is no such place.
    pub fn record(&self, place: Place) -> Found<'_> {
        match self.read(self.shape.index(place)) {
            Slot::New => Found::Empty,
            Slot::Torn => Found::Torn,
            Slot::Holds(Committed { record: None, .. }) => Found::Empty,
            Slot::Holds(Committed {
                record: Some(record),
                ..
            }) => Found::Whole(record, self.payload(place)),
        }
    }

    /// The payload of the record at a place: empty where there is none.
    ///
    /// # Panics
    /// There is no such place.
    #[inline(always)]
    pub fn payload(&self, place: Place) -> &[u8] {
        let index = self.shape.index(place);
        let Some(held) = self.slots[index] else {
            return &[];
        };
        let at = self.area(index, held.payload.area);
        &self.map[at..][..held.payload.length as usize]
    }

    /// Room for the next payload at a place, as long as the shape's payload. It holds with the next commit that says
    /// [`Payload::Written`], and disturbs nothing before.
    ///
    /// # Panics
    /// There is no such place.
    #[inline(always)]
    pub fn payload_mut(&mut self, place: Place) -> &mut [u8] {
        let index = self.shape.index(place);
        let area = self.slots[index].unwrap_or_default().payload.area ^ 1;
        let at = self.area(index, area);
        &mut self.map[at..][..self.shape.payload as usize]
    }

    /// Makes a record hold at a place. Whoever is killed in here leaves the record before or this one.
    ///
    /// # Errors
    /// The payload is too long, or the disk refuses ([`Durability::Power`]).
    ///
    /// # Panics
    /// There is no such place.
    pub fn commit(
        &mut self,
        place: Place,
        record: &Record,
        payload: Payload,
    ) -> Result<(), LogError> {
        self.write(place, Some(*record), payload)
    }

    /// A new payload of `length` bytes at a place, to be written there, without a record. It is for a log in memory, whose
    /// records nobody reads.
    ///
    /// # Errors
    /// The payload is too long.
    ///
    /// # Panics
    /// There is no such place.
    #[inline(always)]
    pub fn replace(&mut self, place: Place, length: usize) -> Result<&mut [u8], LogError> {
        let most = self.shape.payload;
        if length > most as usize {
            return Err(LogError::TooLong { length, most });
        }
        let index = self.shape.index(place);
        let held = self.slots[index].get_or_insert_default();
        held.payload = record::Payload {
            length: length as u32,
            ..record::Payload::default()
        };
        let at = self.area(index, 0);
        Ok(&mut self.map[at..][..length])
    }

    /// Frees a place.
    ///
    /// # Errors
    /// The disk refuses ([`Durability::Power`]).
    ///
    /// # Panics
    /// There is no such place.
    pub fn free(&mut self, place: Place) -> Result<(), LogError> {
        self.write(place, None, Payload::Written(0))
    }

    /// Has `watch` called after each store to the log and before each wait for the disk. Tests end the process there.
    pub fn watch(&mut self, watch: impl FnMut() + Send + 'static) {
        self.watch = Some(Box::new(watch));
    }

    fn write(
        &mut self,
        place: Place,
        record: Option<Record>,
        payload: Payload,
    ) -> Result<(), LogError> {
        let index = self.shape.index(place);
        let held = match self.slots[index] {
            Some(held) => held,
            None => self.wipe(index)?,
        };
        let payload = match payload {
            Payload::Kept => held.payload,
            Payload::Written(length) => {
                if length > self.shape.payload as usize {
                    return Err(LogError::TooLong {
                        length,
                        most: self.shape.payload,
                    });
                }
                let area = held.payload.area ^ 1;
                let at = self.area(index, area);
                if length > 0 {
                    self.sync(at, length)?;
                }
                record::Payload {
                    area,
                    length: length as u32,
                    // The checksum of no bytes is 0.
                    crc: match length {
                        0 => 0,
                        _ => crc32c::crc32c(&self.map[at..][..length]),
                    },
                }
            }
        };
        let next = Committed {
            version: held.version.wrapping_add(1),
            record,
            payload,
        };
        let half = self.slot(index) + record::half_at(next.version);
        let words = next.encode();
        for (number, word) in words.iter().enumerate().skip(1) {
            self.map[half + number * 8..][..8].copy_from_slice(&word.to_ne_bytes());
            self.watched();
        }
        store_word(&mut self.map, half, words[0]);
        self.watched();
        self.sync(half, HALF)?;
        self.slots[index] = Some(Held {
            version: next.version,
            payload,
        });
        Ok(())
    }

    /// Makes a torn slot a new one. A process that is killed meanwhile leaves it torn, or new.
    fn wipe(&mut self, index: usize) -> Result<Held, LogError> {
        let slot = self.slot(index);
        // A commit word that is none, so that neither half holds, whatever the other says.
        for word in [u64::MAX, 0] {
            for half in [0, HALF] {
                store_word(&mut self.map, slot + half, word);
                self.watched();
            }
            self.sync(slot, 2 * HALF)?;
        }
        Ok(Held::default())
    }

    #[inline]
    fn watched(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch();
        }
    }

    #[inline]
    fn sync(&mut self, from: usize, bytes: usize) -> Result<(), LogError> {
        match self.durability {
            Durability::Power => self.write_to_disk(from, bytes),
            Durability::None | Durability::Process => Ok(()),
        }
    }

    fn write_to_disk(&mut self, from: usize, bytes: usize) -> Result<(), LogError> {
        self.watched();
        let synced = self.map.sync(from, bytes);
        synced.map_err(|source| LogError::System {
            action: "write",
            path: self.path(),
            source,
        })
    }

    /// Its file; empty for a log in memory.
    fn path(&self) -> PathBuf {
        let path = self.file.as_ref().map(|(path, _)| path.clone());
        path.unwrap_or_default()
    }

    fn read(&self, index: usize) -> Slot {
        let bytes = &self.map[self.slot(index)..][..self.shape.slot_bytes()];
        record::read(bytes, self.shape.payload as usize)
    }

    #[inline]
    fn slot(&self, index: usize) -> usize {
        shape::HEAD + index * record::slot_bytes(self.area_bytes)
    }

    #[inline]
    fn area(&self, index: usize, area: u8) -> usize {
        self.slot(index) + record::area_at(self.area_bytes, area.into())
    }
}

/// One store that comes after all before it and before all after it, as a process that is killed leaves them.
fn store_word(map: &mut Map, at: usize, word: u64) {
    AtomicU64::mut_from_bytes(&mut map[at..][..8])
        .expect("words are aligned")
        .store(word, Ordering::Release);
    compiler_fence(Ordering::SeqCst);
}

/// An incarnation for a log in memory, from the clock: above that of every earlier life of this endpoint on this machine, as
/// long as the clock is not set back. It counts eighths of a second since 2026, and waits for the present one to end.
pub fn incarnation_by_clock() -> u32 {
    const BEGIN: Duration = Duration::from_secs(1_767_225_600);
    const TICK: u128 = 125;
    let since = || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.unwrap_or_default().saturating_sub(BEGIN).as_millis()
    };
    let begun = since();
    std::thread::sleep(Duration::from_millis((TICK - begun % TICK) as u64));
    (begun / TICK) as u32
}
