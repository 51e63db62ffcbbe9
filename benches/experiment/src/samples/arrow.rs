//! The schema of Arrow beside a Parquet file's own: it says which of the integers are durations.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The key of a file's notes that it stands behind.
pub(super) const KEY: &str = "ARROW:schema";

/// The nanoseconds that the unit of a column counts, for each column of durations at the top of a schema: a message
/// of Arrow's IPC format in base 64. None where it is no such thing.
///
/// The message is a FlatBuffer (format/Message.fbs and Schema.fbs of Arrow): tables whose fields have numbers, and stand
/// where a list before the table says.
pub(super) fn durations(schema: &str) -> Vec<(String, f64)> {
    let bytes = STANDARD.decode(schema).unwrap_or_default();
    // A mark and a length come before the message.
    let message = match bytes.get(..4) {
        Some([0xff, 0xff, 0xff, 0xff]) => bytes.get(8..),
        _ => bytes.get(4..),
    };
    let message = Buffer(message.unwrap_or_default());
    message.durations().unwrap_or_default()
}

#[derive(Clone, Copy)]
struct Buffer<'a>(&'a [u8]);

impl Buffer<'_> {
    fn durations(self) -> Option<Vec<(String, f64)>> {
        /// The place of the header, which is a schema here, in a message.
        const HEADER: usize = 2;
        /// The place of the fields in a schema.
        const FIELDS: usize = 1;
        /// The places of `name`, `type_type` and `type` in a field.
        const NAME: usize = 0;
        const KIND: usize = 2;
        const TYPE: usize = 3;
        /// `Duration` among the types.
        const DURATION: u8 = 18;
        /// `unit` of a duration: what it is where it is not said, and what each counts.
        const UNIT: usize = 0;
        const MILLISECONDS: u16 = 1;
        const NS: [f64; 4] = [1e9, 1e6, 1e3, 1.0];
        let message = self.to(0)?;
        let schema = self.to(self.field(message, HEADER)?)?;
        let fields = self.to(self.field(schema, FIELDS)?)?;
        let mut durations = Vec::new();
        for i in 0..self.u32(fields)?.min(10_000) as usize {
            let field = self.to(fields + 4 + 4 * i)?;
            let kind = self.field(field, KIND).and_then(|at| self.0.get(at));
            if kind != Some(&DURATION) {
                continue;
            }
            let duration = self.to(self.field(field, TYPE)?)?;
            let unit = match self.field(duration, UNIT) {
                Some(at) => self.u16(at)?,
                None => MILLISECONDS,
            };
            let name = self.to(self.field(field, NAME)?)?;
            let length = self.u32(name)? as usize;
            let name = self.0.get(name + 4..)?.get(..length)?;
            let ns = *NS.get(usize::from(unit))?;
            durations.push((String::from_utf8_lossy(name).into_owned(), ns));
        }
        Some(durations)
    }

    /// The place that the offset at a place leads to.
    fn to(self, at: usize) -> Option<usize> {
        at.checked_add(self.u32(at)? as usize)
    }

    /// The place of a field of this number in a table; none where it is not said.
    fn field(self, table: usize, number: usize) -> Option<usize> {
        let back = self.u32(table)?.cast_signed();
        let list = table.checked_add_signed((back as isize).checked_neg()?)?;
        let place = 4 + 2 * number;
        let is_there = place + 2 <= usize::from(self.u16(list)?);
        let offset = is_there
            .then(|| self.u16(list.checked_add(place)?))
            .flatten()?;
        (offset > 0).then_some(table.checked_add(offset.into())?)
    }

    fn u16(self, at: usize) -> Option<u16> {
        let bytes = self.0.get(at..)?.first_chunk()?;
        Some(u16::from_le_bytes(*bytes))
    }

    fn u32(self, at: usize) -> Option<u32> {
        let bytes = self.0.get(at..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_schema_is_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            durations(&STANDARD.encode(bytes));
        }
    }
}
