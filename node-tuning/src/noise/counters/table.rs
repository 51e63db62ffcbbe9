//! The tables of /proc/interrupts and /proc/softirqs: a column a CPU, a row a source.

use crate::cpus::Cpu;

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The name before the colon.
    pub name: String,
    /// The count of each CPU that has a column.
    pub counts: Vec<(Cpu, u64)>,
    /// The text after the counts, with single spaces.
    pub description: String,
}

/// The rows that are counted by CPU. Only CPUs that are online have a column, so columns are named
/// by the first line. Rows without a column for each (`ERR`, `MIS`: one count for the machine)
/// are left out.
///
/// # Errors
/// The number, from 1, of the first line that is not part of such a table.
pub fn parse(text: &str) -> Result<Vec<Row>, usize> {
    let mut lines = text.lines().enumerate();
    let (_, header) = lines.next().ok_or(1usize)?;
    let cpus = header
        .split_whitespace()
        .map(|word| word.strip_prefix("CPU")?.parse().ok())
        .collect::<Option<Vec<Cpu>>>()
        .filter(|cpus| !cpus.is_empty())
        .ok_or(1usize)?;
    let mut rows = Vec::new();
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        // The name of a source may itself hold a colon; the first one ends the row's name.
        let (name, rest) = line.split_once(':').ok_or(index + 1)?;
        let mut words = rest.split_whitespace();
        let counts: Vec<(Cpu, u64)> = cpus
            .iter()
            .zip(&mut words)
            .map_while(|(&cpu, word)| Some((cpu, word.parse().ok()?)))
            .collect();
        if counts.len() == cpus.len() {
            rows.push(Row {
                name: name.trim().to_string(),
                counts,
                description: words.collect::<Vec<_>>().join(" "),
            });
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The counts of a machine with CPU 1 offline.
    const INTERRUPTS: &str = "           CPU0       CPU2       CPU3
  8:          1          0          0  IR-IO-APIC   8-edge      rtc0
 37:          0     890670      4294967295 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
NMI:          1          0          3   Non-maskable interrupts
LOC:    9799958    3131832    5   Local timer interrupts
ERR:          0
MIS:          0
";

    #[test]
    fn columns_belong_to_the_cpus_of_the_header() {
        let rows = parse(INTERRUPTS).unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["8", "37", "NMI", "LOC"]);
        assert_eq!(rows[1].counts, [(0, 0), (2, 890_670), (3, 4_294_967_295)]);
        assert_eq!(
            rows[1].description,
            "PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0"
        );
        assert_eq!(rows[3].description, "Local timer interrupts");
    }

    #[test]
    fn softirqs_have_no_description() {
        let rows = parse("   CPU0 CPU1\n   HI:  0  2\nHRTIMER: 5 6\n").unwrap();
        assert_eq!(rows[1].counts, [(0, 5), (1, 6)]);
        assert_eq!(rows[1].description, "");
    }

    #[test]
    fn what_is_no_table_says_where() {
        assert_eq!(parse(""), Err(1));
        assert_eq!(parse("\n"), Err(1));
        assert_eq!(parse("CPU0 CPUx\n"), Err(1));
        assert_eq!(parse("CPU0\nLOC: 1\nwhat is this\n"), Err(3));
    }

    proptest! {
        #[test]
        fn counts_are_read_back(
            rows in proptest::collection::vec(("[A-Z]{3}|[0-9]{1,3}", proptest::collection::vec(any::<u64>(), 3)), 0..20)
        ) {
            let mut text = "  CPU0 CPU4 CPU17\n".to_string();
            for (name, counts) in &rows {
                text.push_str(&format!("{name}: {} {} {}  some device\n", counts[0], counts[1], counts[2]));
            }
            let read = parse(&text).unwrap();
            prop_assert_eq!(read.len(), rows.len());
            for (row, (name, counts)) in read.iter().zip(&rows) {
                prop_assert_eq!(&row.name, name);
                prop_assert_eq!(&row.counts, &vec![(0, counts[0]), (4, counts[1]), (17, counts[2])]);
            }
        }

        #[test]
        fn nothing_makes_it_panic(text in "[ -~\n]{0,400}") {
            let _ = parse(&text);
        }
    }
}
