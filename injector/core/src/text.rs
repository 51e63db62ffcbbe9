//! Text without an allocation: for what is written while a program ends, perhaps in a signal handler.

use std::fmt::{self, Write};

/// A text in the making, on the stack; what does not fit makes it fail.
pub struct Text {
    room: [u8; 1024],
    length: usize,
}

impl Text {
    /// An empty one.
    pub const fn new() -> Self {
        Text {
            room: [0; 1024],
            length: 0,
        }
    }

    /// The bytes that have been written.
    pub fn bytes(&self) -> &[u8] {
        &self.room[..self.length]
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.length = 0;
    }
}

impl Default for Text {
    fn default() -> Self {
        Text::new()
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let place = self.room.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}
