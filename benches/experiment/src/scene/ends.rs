//! The two hosts that messages go between.

use std::collections::BTreeMap;

use jitterlab_cluster::Host;

/// The first host by name asks or sends, the other one answers or takes. A host that is alone does both.
pub fn fill_ends(from: &mut String, to: &mut String, hosts: &BTreeMap<String, Host>) {
    let Some([first, second]) = pair(hosts) else {
        return;
    };
    let other = |name: &str| if name == first { second } else { first };
    match (from.is_empty(), to.is_empty()) {
        (true, true) => (*from, *to) = (first.clone(), second.clone()),
        (true, false) => *from = other(to).clone(),
        (false, true) => *to = other(from).clone(),
        (false, false) => {}
    }
}

/// The two hosts of a file that has no more, by name; one that is alone stands twice.
pub fn pair(hosts: &BTreeMap<String, Host>) -> Option<[&String; 2]> {
    let mut names = hosts.keys();
    let first = names.next()?;
    let second = names.next().unwrap_or(first);
    names.next().is_none().then_some([first, second])
}
