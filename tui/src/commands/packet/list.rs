//! `jitterlab packet list`: what can be measured, over what.

use jitterlab_packet::cases::Case;
use jitterlab_packet::transport::{Inline, Link, Operation, Transport, Verbs, Wait};
use jitterlab_verbs::{Adapter, Port, Service, ports};
use serde::Serialize;

use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `packet list`.
#[derive(clap::Args)]
pub struct List {
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The suite.
#[derive(Serialize)]
struct Suite {
    cases: Vec<Described>,
    /// The ways over verbs.
    verbs: Vec<Way>,
    /// The ports of RDMA devices on this machine.
    ports: Vec<Port>,
    /// The reason why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_ports: Option<String>,
}

#[derive(Clone, Serialize)]
struct Described {
    case: Case,
    meaning: &'static str,
    transports: Vec<Transport>,
}

#[derive(Serialize)]
struct Way {
    operation: Operation,
    service: Service,
    waits: Vec<Wait>,
    inline: &'static [Inline],
    /// The least and the greatest message, in bytes, if the port carries it.
    sizes: [u64; 2],
}

impl List {
    pub fn run(&self) -> Result<Exit, Failure> {
        let (ports, no_ports) = match ports(None) {
            Ok(ports) => (ports, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let suite = Suite {
            cases: Case::ALL.map(described).to_vec(),
            verbs: ways(),
            ports,
            no_ports,
        };
        output::print(self.format, &suite, || text(&suite))?;
        Ok(Exit::Done)
    }
}

fn described(case: Case) -> Described {
    Described {
        case,
        meaning: case.meaning(),
        transports: Transport::ALL.to_vec(),
    }
}

fn ways() -> Vec<Way> {
    let services = |&operation| {
        Service::ALL
            .iter()
            .map(move |&service| (operation, service))
    };
    let all = Operation::ALL.iter().flat_map(services);
    all.filter_map(|(operation, service)| {
        let inline = Inline::default();
        let verbs = Verbs {
            operation,
            service,
            inline,
        };
        let link = Link::Verbs(verbs, Adapter::default());
        let (least, most) = link.sizes().into_inner();
        let waits = Wait::ALL.into_iter();
        let waits: Vec<Wait> = waits
            .filter(|&wait| link.check(least, wait).is_ok())
            .collect();
        (!waits.is_empty()).then_some(Way {
            operation,
            service,
            waits,
            inline: &Inline::ALL,
            sizes: [least, most],
        })
    })
    .collect()
}

fn text(suite: &Suite) -> String {
    let mut out = String::new();
    for case in &suite.cases {
        let transports = list(case.transports.iter().map(|t| t.name()));
        out.push_str(&format!(
            "{}: {}; over {transports}\n",
            case.case, case.meaning
        ));
    }
    for way in &suite.verbs {
        let [least, most] = way.sizes;
        out.push_str(&format!(
            "verbs, {}, {}: waiting by {}; inline {}; {least} to {most} B\n",
            way.operation,
            way.service,
            list(way.waits.iter().map(|wait| wait.name())),
            list(way.inline.iter().map(|inline| inline.name())),
        ));
    }
    for port in &suite.ports {
        out.push_str(&format!(
            "{}, port {}: {}, {}, packets of up to {} B\n",
            port.device,
            port.number,
            if port.is_active {
                "active"
            } else {
                "not active"
            },
            if port.is_ethernet {
                "Ethernet"
            } else {
                "InfiniBand"
            },
            port.mtu.bytes(),
        ));
        for gid in &port.gids {
            let version = if gid.is_roce_v2 { ", RoCE v2" } else { "" };
            out.push_str(&format!(
                "  GID {}: {}{version}\n",
                gid.index,
                gid.address()
            ));
        }
    }
    if let Some(reason) = &suite.no_ports {
        out.push_str(&format!("no RDMA ports: {reason}\n"));
    }
    out
}

fn list(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
