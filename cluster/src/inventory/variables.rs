//! The variables that say where a host is, and what is made of them. All others belong to playbooks.

use std::net::IpAddr;

use jitterlab_base::input::shortened;
use serde_yaml::Value;

use super::groups::{Variable, Variables};
use super::problem::{At, Problem};
use crate::host::Host;
use crate::place::{Place, is_port};
use crate::trust::HostKey;

const HOST: [&str; 2] = ["ansible_host", "ansible_ssh_host"];
const USER: [&str; 2] = ["ansible_user", "ansible_ssh_user"];
const KEY_FILE: [&str; 2] = ["ansible_private_key_file", "ansible_ssh_private_key_file"];
const ADDRESS: &str = "jitterlab_address";
const PROGRAM: &str = "jitterlab_program";
const HOST_KEYS: &str = "jitterlab_host_keys";
const CONNECTION: [&str; 1] = ["ansible_connection"];
/// The port of a host.
pub const PORT: &str = "ansible_port";

/// Variables that change how a host is reached, or whose value counts, in ways that are not followed.
const REFUSED: [(&str, &str); 13] = [
    ("ansible_ssh_common_args", OPTIONS),
    ("ansible_ssh_extra_args", OPTIONS),
    ("ansible_ssh_args", OPTIONS),
    ("ansible_ssh_executable", OPTIONS),
    ("ansible_host_key_checking", OPTIONS),
    ("ansible_ssh_host_key_checking", OPTIONS),
    ("ansible_ssh_pkcs11_provider", OPTIONS),
    ("ansible_password", PASSWORD),
    ("ansible_ssh_pass", PASSWORD),
    ("ansible_ssh_password", PASSWORD),
    ("ansible_private_key", KEY),
    ("ansible_ssh_private_key", KEY),
    (
        "ansible_group_priority",
        "put what counts into the variables of the host",
    ),
];
const OPTIONS: &str = "put the options into ~/.ssh/config, which Ansible's ssh reads as well";
const PASSWORD: &str = "it types no password; give the host this user's public key";
const KEY: &str = "it takes no key but from a file; name that in `ansible_ssh_private_key_file`";

/// A host by its variables; `at` is where it is named.
///
/// # Errors
/// A value is none of its kind, or a variable is one that is not followed.
pub fn host(name: &str, at: &At, variables: &Variables) -> Result<Host, Problem> {
    for (variable, advice) in REFUSED {
        if let Some(set) = variables.get(variable) {
            return Err(set
                .at
                .problem(format!("jitterlab does not use `{variable}`: {advice}")));
        }
    }
    let find = |names: &[&'static str]| {
        let mut names = names.iter();
        names.find_map(|name| Some((*name, variables.get(*name)?)))
    };
    let text = |names: &[&'static str]| -> Result<Option<(String, &At)>, Problem> {
        match find(names) {
            None => Ok(None),
            Some((name, set)) => Ok(Some((of_text(name, set)?, &set.at))),
        }
    };
    let target = text(&HOST)?;
    let target = target.as_ref().map_or(name, |(target, _)| target.as_str());
    let connection = text(&CONNECTION)?;
    let at_place = match &connection {
        Some((kind, _)) if kind == "local" => Place::Local,
        None => place(target, text(&USER)?, text(&[PORT, "ansible_ssh_port"])?, at)?,
        Some((kind, _)) if matches!(kind.as_str(), "ssh" | "smart" | "openssh") => {
            place(target, text(&USER)?, text(&[PORT, "ansible_ssh_port"])?, at)?
        }
        Some((kind, at)) => {
            return Err(at.problem(format!(
                "`ansible_connection: {}` is not followed: hosts are reached by `ssh`, or are `local`",
                shortened(kind)
            )));
        }
    };
    let mut host = Host::at(at_place);
    host.address = target.parse().ok();
    if let Some((text, at)) = text(&[ADDRESS])? {
        let address: IpAddr = text.parse().map_err(|_| {
            at.problem(format!(
                "`jitterlab_address`: `{}` is no IP address",
                shortened(&text)
            ))
        })?;
        host.address = Some(address);
    }
    if let Some((text, at)) = text(&["jitterlab_cpu"])? {
        let cpu = text.parse().map_err(|_| {
            at.problem(format!(
                "`jitterlab_cpu`: `{}` is no number of a CPU",
                shortened(&text)
            ))
        })?;
        host.cpu = Some(cpu);
    }
    host.device = text(&["jitterlab_device"])?.map(|(device, _)| device);
    // A host on this machine may be in a group of others, and these variables are meant for those.
    if matches!(host.at, Place::Ssh(_)) {
        host.jitterlab = text(&[PROGRAM])?.map(|(program, _)| program);
        host.key_file = text(&KEY_FILE)?.map(|(file, _)| file);
        if let Some((name, set)) = find(&[HOST_KEYS]) {
            host.host_keys = keys(name, set)?;
        }
    }
    match host.problem(name) {
        None => Ok(host),
        Some((key, says)) => {
            let names: &[&'static str] = match key {
                Some("address") => &[ADDRESS],
                Some("jitterlab") => &[PROGRAM],
                Some("key_file") => &KEY_FILE,
                _ => &[],
            };
            Err(find(names).map_or(at, |(_, set)| &set.at).problem(says))
        }
    }
}

/// The place that ssh leads to.
fn place(
    target: &str,
    user: Option<(String, &At)>,
    port: Option<(String, &At)>,
    at: &At,
) -> Result<Place, Problem> {
    let user = user.map_or(String::new(), |(user, _)| user + "@");
    let destination = match port {
        None => format!("{user}{target}"),
        Some((port, at)) => {
            if !is_port(&port) {
                return Err(at.problem(format!("`{PORT}`: `{}` is no port", shortened(&port))));
            }
            match target.contains(':') {
                true => format!("ssh://{user}[{target}]:{port}"),
                false => format!("ssh://{user}{target}:{port}"),
            }
        }
    };
    let place: Result<Place, _> = format!("ssh {destination}").parse();
    place.map_err(|_| {
        at.problem(format!(
            "`{}` is nothing that ssh leads to: a name or address, and a user",
            shortened(&destination)
        ))
    })
}

/// A value as text.
fn of_text(name: &str, set: &Variable) -> Result<String, Problem> {
    let text = match &set.value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Tagged(_) => {
            return Err(set.at.problem(format!(
                "`{name}` is encrypted or has a tag, which is not followed: write its value"
            )));
        }
        _ => return Err(set.at.problem(format!("`{name}` is no text"))),
    };
    match text.contains("{{") || text.contains("{%") {
        true => Err(set.at.problem(format!(
            "`{name}` is a template, which is not followed: write its value"
        ))),
        false => Ok(text),
    }
}

/// The public keys of a host: one, or a list of them.
fn keys(name: &str, set: &Variable) -> Result<Vec<HostKey>, Problem> {
    let wrong = |why: String| set.at.problem(format!("`{name}`: {why}"));
    let list = match &set.value {
        Value::Sequence(list) => list.clone(),
        // INI has no lists but as text.
        Value::String(text) if text.starts_with('[') => serde_yaml::from_str(text)
            .map_err(|_| wrong("expected a list of public keys".into()))?,
        one => vec![one.clone()],
    };
    let keys = list.into_iter().map(|value| {
        let at = set.at.clone();
        let text = of_text(name, &Variable { value, at })?;
        text.parse().map_err(wrong)
    });
    keys.collect()
}
