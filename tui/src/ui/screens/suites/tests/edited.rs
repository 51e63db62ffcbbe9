//! Files that are edited, their hosts, and choices that are not saved.

use super::*;

/// The same files, of which the second one can be edited.
fn with_choices() -> (Seen, Choices) {
    let mut seen = seen();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("quick.yaml");
    std::fs::write(&file, &Builder::new(1).plan.text).unwrap();
    let choices = Choices::of(&file).unwrap();
    seen.files[1].choices = Ok(choices.clone());
    (seen, choices)
}

#[test]
fn a_file_is_edited_and_saved_under_its_name() {
    let mut app = at_experiments();
    press(&mut app, &[Key::Home, Key::Down, Key::Down]);
    // What the tree cannot express is said.
    assert!(letters(&mut app, "e").is_empty());
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("quick.yaml: its `resolve` is not among"),
        "{shown}"
    );
    let (seen, choices) = with_choices();
    tell(&mut app, (seen, true));
    letters(&mut app, "e");
    pictures("suites_edit", &mut app);
    fits_anywhere(&mut app);
    press(&mut app, &[Key::Down]);
    letters(&mut app, " +");
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("4 different runs, 6 times each: 24 in all"),
        "{shown}"
    );
    let saves = press(&mut app, &[Key::Enter]).join("");
    for text in [
        "SaveAgain { path: \"quick.yaml\"",
        &format!("before: {:?}", choices.text),
        "repetitions: 6",
        "case: latency",
    ] {
        assert!(saves.contains(text), "{text} in {saves}");
    }
    // What is not saved is forgotten, after a question.
    press(&mut app, &[Key::Left]);
    let question = "choices of quick.yaml are not saved: forget them?";
    assert_eq!(asks(&mut app), Some(question));
    letters(&mut app, "n");
    assert!(picture(&mut app, 80, 24).contains("4 different runs, 6 times each: 24 in all"));
    press(&mut app, &[Key::Left]);
    assert_eq!(letters(&mut app, "y"), ["Do(Forget)"]);
    tell(&mut app, Forgotten);
    letters(&mut app, "e");
    assert!(picture(&mut app, 80, 24).contains("2 different runs, 5 times each: 10 in all"));
    // Nothing is asked where nothing goes.
    press(&mut app, &[Key::Left, Key::Home, Key::Enter]);
    assert!(!picture(&mut app, 80, 24).contains("edits"));
}

#[test]
fn whoever_leaves_is_asked_where_choices_are_not_saved() {
    let mut app = at_experiments();
    let (seen, _) = with_choices();
    tell(&mut app, (seen.clone(), true));
    press(&mut app, &[Key::Home, Key::Down, Key::Down]);
    letters(&mut app, "e+");
    // From whichever screen, by either key.
    letters(&mut app, "1");
    assert!(letters(&mut app, "q").is_empty());
    let question = "choices of quick.yaml are not saved: leave all the same?";
    assert_eq!(asks(&mut app), Some(question));
    letters(&mut app, "n");
    assert!(press(&mut app, &[Key::Break]).is_empty());
    assert_eq!(press(&mut app, &[Key::Break]), ["Leave"]);
    assert_eq!(letters(&mut app, "qy"), ["Leave"]);
    // The new experiment keeps its choices while another file is edited, and until it is saved.
    letters(&mut app, "3-");
    press(&mut app, &[Key::Left, Key::Home, Key::Enter]);
    letters(&mut app, "+");
    press(&mut app, &[Key::Left]);
    assert_eq!(asks(&mut app), None);
    press(&mut app, &[Key::Down, Key::Down]);
    letters(&mut app, "e");
    press(&mut app, &[Key::Left]);
    letters(&mut app, "q");
    let question = "choices of the new experiment are not saved: leave all the same?";
    assert_eq!(asks(&mut app), Some(question));
    press(&mut app, &[Key::Char('n'), Key::Home, Key::Enter]);
    let shown = picture(&mut app, 200, 60);
    assert!(
        shown.contains("2 different runs, 6 times each: 12 in all"),
        "{shown}"
    );
    let mut builder = Builder::new(1);
    builder.key(builder::Does::Repeat, Key::Char('+'), Path::new("lab"), &[]);
    let (path, text) = ("packet.yaml".into(), builder.plan.text);
    tell(&mut app, Saved { path, text });
    assert_eq!(letters(&mut app, "q"), ["Leave"]);
}

#[test]
fn whoever_edits_is_not_led_away() {
    let mut app = at_experiments();
    let (mut seen, _) = with_choices();
    tell(&mut app, (seen.clone(), true));
    press(&mut app, &[Key::Home, Key::Down, Key::Down]);
    tell(&mut app, Starting(Job::Run("quick.yaml".into())));
    letters(&mut app, "e+");
    // What was started is there; the file is gone.
    let new = folder("quick-20261122T040000Z", 8, 0, true);
    seen.folders.insert(0, new);
    seen.files.remove(1);
    tell(&mut app, (seen, true));
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("edits quick.yaml"), "{shown}");
    assert!(
        shown.contains("2 different runs, 6 times each: 12 in all"),
        "{shown}"
    );
}

#[test]
fn hosts_are_those_of_a_hosts_file() {
    let mut app = at_experiments();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nodes.yaml");
    let nodes =
        "hosts: { a: { at: ssh a, address: 10.0.0.1 }, b: { at: ssh b, address: 10.0.0.2 } }\n";
    std::fs::write(&file, nodes).unwrap();
    let mut seen = seen();
    seen.hosts.extend(Hosts::of_file(&file));
    tell(&mut app, (seen, true));
    press(&mut app, &[Key::Home, Key::Enter]);
    assert!(picture(&mut app, 80, 24).contains("on this machine, both ends on CPU 1"));
    letters(&mut app, "h");
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("hosts of nodes.yaml: from a to b"),
        "{shown}"
    );
    let saves = press(&mut app, &[Key::Enter]).join("");
    assert!(
        saves.contains("hosts_file: nodes.yaml") && saves.contains("from: a, to: b"),
        "{saves}"
    );
    letters(&mut app, "h");
    assert!(picture(&mut app, 80, 24).contains("on this machine"));
}

#[test]
fn of_more_hosts_two_are_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nodes.yaml");
    let nodes = ["a", "b", "c"].map(|it| format!("{it}: {{ at: ssh {it}, address: 10.0.0.1 }}"));
    std::fs::write(&file, format!("hosts: {{ {} }}\n", nodes.join(", "))).unwrap();
    let mut seen = seen();
    seen.hosts.extend(Hosts::of_file(&file));
    let mut app = at_experiments();
    tell(&mut app, (seen, true));
    press(&mut app, &[Key::Home, Key::Enter]);
    letters(&mut app, "f");
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("both ends are on this machine"), "{shown}");
    // No host is both ends.
    for (keys, ends) in [
        ("h", "from a to b"),
        ("f", "from c to b"),
        ("t", "from c to a"),
        ("f", "from b to a"),
        ("t", "from b to c"),
        // All the hosts files, round and round.
        ("hh", "from a to b"),
        ("t", "from a to c"),
    ] {
        letters(&mut app, keys);
        let shown = picture(&mut app, 80, 24);
        let line = format!("{ends}, of 3 hosts of nodes.yaml (f t choose)");
        assert!(shown.contains(&line), "{keys}: {shown}");
    }
    let saves = press(&mut app, &[Key::Enter]).join("");
    assert!(saves.contains("from: a, to: c"), "{saves}");
}

#[test]
fn a_file_that_somebody_else_has_changed_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.yaml");
    std::fs::write(&path, &Builder::new(1).plan.text).unwrap();
    let choices = Choices::of(&path).unwrap();
    let save = || {
        let mut builder = Builder::of(path.clone(), choices.clone(), 1);
        builder.key(builder::Does::Repeat, Key::Char('+'), folder.path(), &[]);
        let Some(Action::Do(task)) =
            builder.key(builder::Does::Save, Key::Enter, folder.path(), &[])
        else {
            panic!("nothing is saved");
        };
        let mut told = Vec::new();
        task.run(&mut |news| told.push(news));
        told.iter().any(|news| news.is::<Saved>())
    };
    assert!(save());
    let saved = std::fs::read_to_string(&path).unwrap();
    assert!(saved.contains("repetitions: 6"), "{saved}");
    assert_eq!(Choices::of(&path).unwrap().repetitions, 6);
    // It is no more what was opened.
    assert!(!save());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), saved);
}
