//! The numbers of the formats of what is stored.

use serde::Deserialize;

/// The number that stored JSON has as its `version`. First formats had none: theirs is 1.
pub fn version(json: &[u8]) -> serde_json::Result<u32> {
    #[derive(Deserialize)]
    struct Any {
        #[serde(default = "first")]
        version: u32,
    }
    fn first() -> u32 {
        1
    }
    serde_json::from_slice(json).map(|Any { version }| version)
}
