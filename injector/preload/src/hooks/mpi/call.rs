//! A call that is caught.

/// A call that is caught, as its place among [`Call::NAMES`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call(u16);

impl Call {
    /// The call of that name in C, which has to be one of the list.
    pub(super) const fn named(name: &str) -> Self {
        let mut place = 0;
        while !is_same(Call::NAMES[place], name) {
            place += 1;
        }
        Call(place as u16)
    }

    /// The place of its name.
    pub(crate) fn index(self) -> usize {
        self.0.into()
    }

    /// The call at this place.
    pub(super) fn at(index: usize) -> Self {
        Call(index as u16)
    }
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
