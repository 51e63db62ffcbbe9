//! The sentence at the end of a report.

/// The sentence about what is sent to a network; `none_found` says that nothing was found to bypass the hooks.
pub fn of_network(hooked: u64, bypassed: u64, none_found: bool) -> String {
    match (hooked, bypassed, none_found) {
        (0, 0, true) => "nothing was sent to a network in this run: it says nothing about this \
                         program; run it so that it communicates"
            .into(),
        (0, _, _) => "no send passes a hook: under injection this program runs as if nothing were \
                      injected"
            .into(),
        (_, 0, true) => format!("every send of this run passed a hook: {hooked}"),
        (_, 0, false) => format!(
            "{hooked} sends of this run passed a hook, and what is listed above did not: injection \
             delays only a part"
        ),
        _ => format!(
            "{bypassed} of {} sends bypassed the hooks in this run: injection delays only a part",
            hooked + bypassed
        ),
    }
}

/// The sentence about a program with calls of MPI, and about what was sent below them.
pub fn of_mpi(calls: u64, hooked: u64, bypassed: u64, none_found: bool) -> String {
    let below = match (hooked, bypassed) {
        (0, 0) => {
            "below it nothing was sent to a network: ranks of one machine use its memory".into()
        }
        _ => format!("below it, {}", of_network(hooked, bypassed, none_found)),
    };
    format!(
        "{calls} calls of MPI passed --hook mpi and mpi-collectives; {below}; inject at one layer, at both \
         messages are delayed twice"
    )
}
