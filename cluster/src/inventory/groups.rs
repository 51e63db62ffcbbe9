//! The groups of an inventory, and what each host has of the variables that they set.

use std::collections::{BTreeMap, BTreeSet};

use jitterlab_base::input::shortened;
use serde_yaml::Value;

use super::problem::{At, Problem};
use super::ranges::{MOST, expanded};

/// The group that every host is in.
pub const ALL: &str = "all";
/// Hosts that are in no other group.
pub const UNGROUPED: &str = "ungrouped";
/// Groups that an inventory has at most.
const MOST_GROUPS: usize = 1_000;

/// A variable, and where it is set.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    pub value: Value,
    pub at: At,
}

/// Variables by name.
pub type Variables = BTreeMap<String, Variable>;

/// The groups and hosts of an inventory.
#[derive(Debug, Default)]
pub struct Groups {
    groups: BTreeMap<String, Group>,
    hosts: BTreeMap<String, (At, Variables)>,
}

#[derive(Debug, Default)]
struct Group {
    hosts: BTreeSet<String>,
    children: BTreeMap<String, At>,
    variables: [Variables; 2],
}

/// The place where a variable of a group is set.
#[derive(Debug, Clone, Copy)]
pub enum Layer {
    /// The inventory itself.
    Within,
    /// A file beside it, which comes before all that the inventory says of any group.
    Beside,
}

impl Groups {
    /// Notes that there is a group.
    pub fn group(&mut self, name: &str) {
        self.groups.entry(name.into()).or_default();
    }

    /// Puts the hosts of a pattern into a group, and sets variables of them.
    ///
    /// # Errors
    /// The pattern has a range that is none, or there are too many hosts.
    pub fn add(
        &mut self,
        group: &str,
        pattern: &str,
        at: &At,
        variables: &Variables,
    ) -> Result<(), Problem> {
        for name in expanded(pattern).map_err(|says| at.problem(says))? {
            let host = self.hosts.entry(name.clone());
            let (_, set) = host.or_insert_with(|| (at.clone(), Variables::new()));
            set.extend(variables.clone());
            self.groups
                .entry(group.into())
                .or_default()
                .hosts
                .insert(name);
        }
        match self.hosts.len() > MOST {
            true => Err(at.problem(format!("more than {MOST} hosts"))),
            false => Ok(()),
        }
    }

    /// Sets a variable of a group.
    pub fn set(&mut self, group: &str, layer: Layer, name: &str, variable: Variable) {
        let group = self.groups.entry(group.into()).or_default();
        group.variables[layer as usize].insert(name.into(), variable);
    }

    /// True if a host is there.
    pub fn has_host(&self, name: &str) -> bool {
        self.hosts.contains_key(name)
    }

    /// Sets variables of a host that is there.
    pub fn set_host(&mut self, name: &str, variables: Variables) {
        if let Some((_, set)) = self.hosts.get_mut(name) {
            set.extend(variables);
        }
    }

    /// Puts a group into another one.
    pub fn nest(&mut self, parent: &str, child: &str, at: &At) {
        let parent = self.groups.entry(parent.into()).or_default();
        parent.children.insert(child.into(), at.clone());
    }

    /// True if a group is there.
    pub fn has(&self, group: &str) -> bool {
        group == ALL || self.groups.contains_key(group)
    }

    /// The names of the groups.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let named = self.groups.keys().map(String::as_str);
        named.filter(|name| *name != UNGROUPED)
    }

    /// The hosts of a group, with those of the groups in it.
    pub fn members(&self, group: &str) -> BTreeSet<&str> {
        if group == ALL {
            return self.hosts.keys().map(String::as_str).collect();
        }
        let (mut seen, mut todo) = (BTreeSet::new(), vec![group]);
        let mut hosts = BTreeSet::new();
        while let Some(name) = todo.pop() {
            if let (true, Some(group)) = (seen.insert(name), self.groups.get(name)) {
                hosts.extend(group.hosts.iter().map(String::as_str));
                todo.extend(group.children.keys().map(String::as_str));
            }
        }
        hosts
    }

    /// Each host with where it is named first, and its variables: its own before those of its groups, those of a group
    /// before those of the groups that it is in, and of two groups of the same depth those of the later name.
    ///
    /// # Errors
    /// A group is in itself, or a group that is named as a child is nowhere.
    pub fn merged(&self) -> Result<Vec<(&str, &At, Variables)>, Problem> {
        let mut hosts: BTreeMap<&str, Variables> = BTreeMap::new();
        let order = self.by_depth()?;
        for layer in [Layer::Within, Layer::Beside] {
            for name in &order {
                let group = self.groups.get(*name);
                let of_group = group.map(|group| &group.variables[layer as usize]);
                let Some(of_group) = of_group.filter(|set| !set.is_empty()) else {
                    continue;
                };
                for host in self.members(name) {
                    hosts.entry(host).or_default().extend(of_group.clone());
                }
            }
        }
        let merged = self.hosts.iter().map(|(name, (at, own))| {
            let mut variables = hosts.remove(name.as_str()).unwrap_or_default();
            variables.extend(own.clone());
            (name.as_str(), at, variables)
        });
        Ok(merged.collect())
    }

    /// The groups, with those that hold others first. The depth of a group is one more than that of the deepest group around it.
    fn by_depth(&self) -> Result<Vec<&str>, Problem> {
        if self.groups.len() > MOST_GROUPS {
            return Err(At::Line(1).problem(format!("more than {MOST_GROUPS} groups")));
        }
        let mut depths: BTreeMap<&str, usize> =
            self.groups.keys().map(|name| (name.as_str(), 1)).collect();
        depths.insert(ALL, 0);
        for round in 0.. {
            let mut changed = false;
            for (parent, group) in &self.groups {
                let depth = depths[parent.as_str()] + 1;
                for (child, at) in &group.children {
                    let known = depths.get_mut(child.as_str()).ok_or_else(|| {
                        at.problem(format!("there is no group `{}`", shortened(child)))
                    })?;
                    if *known < depth {
                        *known = depth;
                        changed = true;
                    }
                    if round > self.groups.len() || child == ALL {
                        let child = shortened(child);
                        return Err(at.problem(format!("the group `{child}` is in itself")));
                    }
                }
            }
            if !changed {
                break;
            }
        }
        let mut order: Vec<(usize, &str)> = depths
            .into_iter()
            .map(|(name, depth)| (depth, name))
            .collect();
        order.sort_unstable();
        Ok(order.into_iter().map(|(_, name)| name).collect())
    }
}
