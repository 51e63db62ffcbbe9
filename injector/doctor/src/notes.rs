//! The things that matter under injection and bypass nothing.

use super::elf::Executable;
use super::finding::Kind;
use super::program::Program;

/// The things that are worth knowing of a program beside its sends.
pub fn of(program: &Program, file: &Executable) -> Vec<(Kind, String)> {
    let mut notes = Vec::new();
    if program.sandboxed {
        let text = "it enters a sandbox (seccomp or Landlock): if that keeps the library from reporting at the end of the \
                    program, its counters come from the control page that it leaves";
        notes.push((Kind::Sandbox, text.into()));
    } else if !file.sandbox.is_empty() {
        let text = format!(
            "it is linked to {}: in another run it may enter a sandbox",
            file.sandbox.join(", ")
        );
        notes.push((Kind::Sandbox, text));
    }
    if !file.sanitizers.is_empty() {
        let text = format!(
            "it runs under a sanitizer ({}), whose own cost is in every time that is measured",
            file.sanitizers.join(", ")
        );
        notes.push((Kind::Sanitizer, text));
    }
    if !program.opened_later.is_empty() {
        let names: Vec<&str> = program.opened_later.iter().map(String::as_str).collect();
        let text = format!(
            "it opened {} while it ran: the hooks catch what it asks of dlsym, and not what it asks of dlvsym, or has opened \
             with RTLD_DEEPBIND",
            names.join(", ")
        );
        notes.push((Kind::OpenedLater, text));
    }
    notes
}
