//! Keys, and what they do, as data: who takes a key looks it up where footer and help are drawn from.

use std::str::FromStr;

/// Keys that mean something somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Tab,
    Escape,
    Backspace,
    /// Ctrl-C.
    Break,
}

impl Key {
    fn label(self) -> String {
        match self {
            Key::Char(' ') => "Space".into(),
            Key::Char(character) => character.into(),
            Key::Up => "↑".into(),
            Key::Down => "↓".into(),
            Key::Left => "←".into(),
            Key::Right => "→".into(),
            Key::Break => "Ctrl-C".into(),
            Key::Escape => "Esc".into(),
            named => format!("{named:?}"),
        }
    }
}

/// As a word: a character for itself, the others by their names.
impl FromStr for Key {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let mut characters = word.chars();
        if let (Some(character), None) = (characters.next(), characters.next()) {
            return Ok(Key::Char(character));
        }
        let named = NAMED.iter().find(|(name, _)| *name == word);
        named.map(|(_, key)| *key).ok_or_else(|| {
            let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
            format!(
                "that is no key: a key is a character, or {}",
                names.join(", ")
            )
        })
    }
}

const NAMED: [(&str, Key); 12] = [
    ("Space", Key::Char(' ')),
    ("Up", Key::Up),
    ("Down", Key::Down),
    ("Left", Key::Left),
    ("Right", Key::Right),
    ("PageUp", Key::PageUp),
    ("PageDown", Key::PageDown),
    ("Home", Key::Home),
    ("End", Key::End),
    ("Enter", Key::Enter),
    ("Esc", Key::Escape),
    ("Backspace", Key::Backspace),
];

/// All keys that lead through a list or a text.
pub const MOVES: &[Key] = &[
    Key::Up,
    Key::Down,
    Key::PageUp,
    Key::PageDown,
    Key::Home,
    Key::End,
];

/// Keys that all do the same, or the same in different directions.
#[derive(Debug, Clone, Copy)]
pub struct Binding<C: 'static> {
    /// The keys.
    pub keys: &'static [Key],
    /// Their effect in a word or two.
    pub does: &'static str,
    /// Their command, for whoever takes the key.
    pub command: C,
}

/// The command of a key.
pub fn command<C: Copy>(bindings: &[Binding<C>], key: Key) -> Option<C> {
    let mut all = bindings.iter();
    let bound = all.find(|binding| binding.keys.contains(&key))?;
    Some(bound.command)
}

/// Bindings as they are shown.
pub fn hints<'a, C: 'static>(bindings: impl IntoIterator<Item = &'a Binding<C>>) -> Vec<Hint> {
    let hint = |binding: &Binding<C>| Hint {
        keys: binding.keys,
        does: binding.does,
    };
    bindings.into_iter().map(hint).collect()
}

/// Keys and what they do, as people are told.
#[derive(Debug, Clone, Copy)]
pub struct Hint {
    keys: &'static [Key],
    /// Their effect.
    pub does: &'static str,
}

impl Hint {
    /// The hint for little room.
    pub fn short(&self) -> String {
        let keys = &self.keys[..self.keys.len().min(2)];
        format!("{} {}", labels(keys), self.does)
    }

    /// All keys.
    pub fn keys(&self) -> String {
        labels(self.keys)
    }
}

fn labels(keys: &[Key]) -> String {
    let labels: Vec<String> = keys.iter().map(|key| key.label()).collect();
    labels.join(" ")
}

/// The place from which a key leads to another one of so many; none where it means nothing here.
pub fn moved(key: Key, at: usize, of: usize) -> Option<usize> {
    const PAGE: usize = 10;
    let last = of.checked_sub(1)?;
    Some(match key {
        Key::Up => at.saturating_sub(1),
        Key::Down => (at + 1).min(last),
        Key::PageUp => at.saturating_sub(PAGE),
        Key::PageDown => (at + PAGE).min(last),
        Key::Home => 0,
        Key::End => last,
        _ => return None,
    })
}
