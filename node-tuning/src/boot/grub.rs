//! The files that GRUB's command line is made of, and what it becomes. The shell reads `/etc/default/grub`, and
//! then `/etc/default/grub.d/*.cfg` one after the other (`grub-mkconfig`). `10_linux` takes `$GRUB_CMDLINE_LINUX
//! $GRUB_CMDLINE_LINUX_DEFAULT` from them.
//!
//! Assignments are read as the shell does, and taken to be made, even behind an `if`. The output of programs is not known,
//! and is empty here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::parameters::words;
use super::{CommandLine, Origin, Parameters};
use crate::system::System;

const FIRST: &str = "/etc/default/grub";
const DROP_INS: &str = "/etc/default/grub.d";
/// The variables in the order in which they come to the kernel.
const VARIABLES: [&str; 2] = ["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"];

/// The files, in the order in which they are read.
#[derive(Debug, Clone)]
pub(super) struct Sources(Vec<(PathBuf, String)>);

/// More than any kernel takes: what doubles itself ends.
const LONGEST: usize = 1 << 16;

/// A text, with where each of its characters comes from.
type Traced = Vec<(char, Origin)>;

impl Sources {
    pub(super) fn read(system: &System) -> Self {
        let mut names = system.names(DROP_INS);
        names.retain(|name| name.ends_with(".cfg"));
        // The shell sorts them so, and takes no digits for a number.
        names.sort();
        let drop_ins = names.iter().map(|name| PathBuf::from(DROP_INS).join(name));
        let paths = std::iter::once(PathBuf::from(FIRST)).chain(drop_ins);
        Sources(
            paths
                .filter_map(|path| Some((path.clone(), system.whole_text(&path)?)))
                .collect(),
        )
    }

    /// The command line that they make when the file at `own` says `content`, and where that line was last begun anew.
    pub(super) fn command_line(&self, own: &Path, content: &str) -> (CommandLine, Option<Origin>) {
        let mut shell = Shell::default();
        let mut files: Vec<(&Path, &str)> = self
            .0
            .iter()
            .map(|(path, text)| (path.as_path(), text.as_str()))
            .filter(|(path, _)| *path != own)
            .collect();
        let place = files
            .iter()
            .position(|(path, _)| *path != Path::new(FIRST) && *path > own);
        files.insert(place.unwrap_or(files.len()), (own, content));
        for (path, text) in files {
            shell.run(path, text);
        }
        let mut line = Traced::new();
        for name in VARIABLES {
            let value = shell.variables.remove(name).unwrap_or_default();
            let space = value.first().map(|(_, origin)| (' ', origin.clone()));
            line.extend(value.into_iter().chain(space));
        }
        let text: String = line.iter().map(|(c, _)| c).collect();
        let origins = words(&text)
            .iter()
            .map(|(first, _)| line[*first].1.clone())
            .collect();
        let parameters = Parameters::parse(&text);
        let begun = shell.begun.remove(VARIABLES[1]);
        (
            CommandLine {
                parameters,
                origins,
            },
            begun,
        )
    }
}

/// The part of a shell that takes notice of assignments.
#[derive(Default)]
struct Shell {
    variables: HashMap<String, Traced>,
    /// The line that last gave a variable a value without its own in it.
    begun: HashMap<String, Origin>,
}

/// A file that is being read.
struct Reader<'a> {
    path: &'a Path,
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    fn next_if(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        if self.peek().is_some_and(wanted) {
            self.next()
        } else {
            None
        }
    }

    fn origin(&self) -> Origin {
        Origin {
            path: self.path.into(),
            line: self.line,
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.next_if(|c| c.is_ascii_alphanumeric() || c == '_') {
            name.push(c);
        }
        name
    }

    /// Goes on behind what ends a bracket or a quote.
    fn skip_to(&mut self, end: char, begin: Option<char>) {
        let mut depth = 1;
        while let Some(c) = self.next() {
            depth += usize::from(Some(c) == begin);
            depth -= usize::from(c == end);
            if depth == 0 {
                return;
            }
        }
    }
}

impl Shell {
    fn run(&mut self, path: &Path, text: &str) {
        let mut reader = Reader {
            path,
            rest: text.chars().peekable(),
            line: 1,
        };
        while let Some(c) = reader.peek() {
            match c {
                '#' => while reader.next_if(|c| c != '\n').is_some() {},
                c if c.is_ascii_alphabetic() || c == '_' => self.command(&mut reader),
                c if c.is_whitespace() || ";&|(){}".contains(c) => drop(reader.next()),
                _ => drop(self.word(&mut reader)),
            }
        }
    }

    /// A word where a command may begin: an assignment, or what stands before one (`export`, `then`), or a command, whose
    /// arguments may be taken for commands without harm: they are no assignments, or look like them.
    fn command(&mut self, reader: &mut Reader) {
        let name = reader.name();
        let adds = reader.next_if(|c| c == '+').is_some();
        if reader.next_if(|c| c == '=').is_none() {
            drop(self.word(reader));
            return;
        }
        let origin = reader.origin();
        let before = self.variables.get(&name).cloned().unwrap_or_default();
        let (value, names) = self.word(reader);
        if !adds && !names.contains(&name) {
            self.begun.insert(name.clone(), origin);
        }
        let mut value = if adds {
            [before, value].concat()
        } else {
            value
        };
        value.truncate(LONGEST);
        self.variables.insert(name, value);
    }

    /// A word without its quotes, with what its variables stand for, and their names.
    fn word(&self, reader: &mut Reader) -> (Traced, Vec<String>) {
        let (mut word, mut names) = (Traced::new(), Vec::new());
        let mut quoted = false;
        while let Some(c) = reader.peek() {
            if !quoted && (c.is_whitespace() || ";&|()".contains(c)) {
                break;
            }
            reader.next();
            match c {
                '"' => quoted = !quoted,
                '\'' if !quoted => {
                    while let Some(c) = reader.next_if(|c| c != '\'') {
                        word.push((c, reader.origin()));
                    }
                    reader.next();
                }
                '\\' => match reader.next() {
                    None | Some('\n') => {}
                    Some(escaped) => {
                        if quoted && !"$`\"\\".contains(escaped) {
                            word.push(('\\', reader.origin()));
                        }
                        word.push((escaped, reader.origin()));
                    }
                },
                '`' => reader.skip_to('`', None),
                '$' => match reader.peek() {
                    Some('(') => {
                        reader.next();
                        reader.skip_to(')', Some('('));
                    }
                    Some('{') => {
                        reader.next();
                        let name = reader.name();
                        reader.skip_to('}', Some('{'));
                        word.extend(self.variables.get(&name).cloned().unwrap_or_default());
                        names.push(name);
                    }
                    Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                        let name = reader.name();
                        word.extend(self.variables.get(&name).cloned().unwrap_or_default());
                        names.push(name);
                    }
                    _ => word.push(('$', reader.origin())),
                },
                c => word.push((c, reader.origin())),
            }
        }
        (word, names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWN: &str = "/etc/default/grub.d/95-jitterlab.cfg";

    /// The parameters, each with its file and line.
    fn made(files: &[(&str, &str)], own: &str) -> Vec<String> {
        let of = |(path, text): &(&str, &str)| {
            (Path::new("/etc/default").join(path), (*text).to_string())
        };
        let sources = Sources(files.iter().map(of).collect());
        let (line, _) = sources.command_line(Path::new(OWN), own);
        let named = line.parameters.iter().zip(&line.origins);
        named
            .map(|(parameter, origin)| {
                let file = origin.path.file_name().unwrap().to_string_lossy();
                format!("{parameter} {file}:{}", origin.line)
            })
            .collect()
    }

    #[test]
    fn assignments_are_read_as_the_shell_does() {
        let default = r#"# GRUB_CMDLINE_LINUX="isolcpus=1"
GRUB_DISTRIBUTOR=`( . /etc/os-release; echo ${NAME:-Debian} ) 2>/dev/null || echo Debian`
GRUB_CMDLINE_LINUX_DEFAULT='quiet dyndbg="file a.c +p"'
SITE="isolcpus=1-3 \
  nohz_full=1-3"
export GRUB_CMDLINE_LINUX="$SITE splash\"\""; GRUB_TIMEOUT=$(cat "/x" | wc -l)
if [ -e /x ]; then GRUB_CMDLINE_LINUX="${GRUB_CMDLINE_LINUX} debug"; fi
"#;
        let more = "GRUB_CMDLINE_LINUX_DEFAULT+=\" skew_tick=0\"\n";
        let own = "# ours\nGRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT nosmt\"\n";
        let last = "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT skew_tick=2\"";
        assert_eq!(
            made(
                &[
                    ("grub", default),
                    ("grub.d/100-more.cfg", more),
                    ("grub.d/99-last.cfg", last)
                ],
                own
            ),
            [
                "isolcpus=1-3 grub:4",
                "nohz_full=1-3 grub:5",
                "splash\"\" grub:6",
                "debug grub:7",
                "quiet grub:3",
                "dyndbg=\"file a.c +p\" grub:3",
                "skew_tick=0 100-more.cfg:1",
                "nosmt 95-jitterlab.cfg:2",
                "skew_tick=2 99-last.cfg:1",
            ]
        );
    }

    #[test]
    fn what_drops_ours_is_known() {
        let sources = Sources(vec![
            ("/etc/default/grub".into(), "GRUB_CMDLINE_LINUX=a".into()),
            (
                "/etc/default/grub.d/99-site.cfg".into(),
                "\nGRUB_CMDLINE_LINUX_DEFAULT=quiet\n".into(),
            ),
        ]);
        let own = "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT nosmt\"";
        let (line, begun) = sources.command_line(Path::new(OWN), own);
        assert_eq!(line.parameters.to_string(), "a quiet");
        let begun = begun.unwrap();
        assert_eq!(
            (begun.path.to_str(), begun.line),
            (Some("/etc/default/grub.d/99-site.cfg"), 2)
        );
    }

    proptest! {
        #[test]
        fn any_file_is_read(text in "[ -~\n]{0,80}", quotes in "[\"'`\\\\${}()=A\n ]{0,40}") {
            made(&[("grub", &text), ("grub.d/1.cfg", &quotes)], &text);
        }
    }
}
