/// A problem size, smallest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[value(rename_all = "UPPER")]
pub enum Class {
    /// For a first try.
    S,
    /// A workstation of 1994.
    W,
    /// The standard size.
    A,
    /// About four times class A.
    B,
    /// About four times class B.
    C,
}

impl Class {
    /// The one of five values that is this class's, given from [`Class::S`] to [`Class::C`].
    pub fn of<T>(self, values: [T; 5]) -> T {
        let [s, w, a, b, c] = values;
        match self {
            Class::S => s,
            Class::W => w,
            Class::A => a,
            Class::B => b,
            Class::C => c,
        }
    }
}

jitterlab_base::named!(Class, S => "S", W => "W", A => "A", B => "B", C => "C");
