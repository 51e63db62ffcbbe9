//! Parameters of network interfaces, asked of the kernel's ethtool family of netlink (Linux 5.7 and newer), as the program
//! `ethtool` does. Numbers are those of linux/ethtool_netlink.h.

use std::io;

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, ErrorMessage, NLA_F_NESTED, NLM_F_ACK, NLM_F_REQUEST,
    NetlinkDeserializable, NetlinkMessage, NetlinkPayload, NetlinkSerializable, NlasIterator,
    ParseableParametrized,
};
use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlHeader, GenlMessage};
use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket, SocketAddr};
use nix::errno::Errno;

use super::{Error, Parameters, Place, Value};

const FAMILY: &str = "ethtool";
const VERSION: u8 = 1;
/// The interface that is meant, in every message of the family.
const HEADER: u16 = 1;
const HEADER_NAME: u16 = 2;
/// The reason in words that the kernel adds to an error.
const ERROR_WORDS: u16 = 1;

/// A group of parameters as the kernel knows it.
struct Group {
    get: u8,
    set: u8,
    parameters: &'static [Parameter],
}

/// A name in our values, the number of the attribute, and its type.
type Parameter = (&'static str, u16, Type);

#[derive(Clone, Copy)]
enum Type {
    /// A byte: `on` or `off`.
    Switch,
    /// 32 bits.
    Number,
}

const COALESCING: Group = Group {
    get: 19,
    set: 20,
    parameters: &[
        ("adaptive-rx", 11, Type::Switch),
        ("adaptive-tx", 12, Type::Switch),
        ("rx-usecs", 2, Type::Number),
        ("tx-usecs", 6, Type::Number),
    ],
};

const PAUSE: Group = Group {
    get: 21,
    set: 22,
    parameters: &[
        ("autoneg", 2, Type::Switch),
        ("rx", 3, Type::Switch),
        ("tx", 4, Type::Switch),
    ],
};

fn group(parameters: Parameters) -> &'static Group {
    match parameters {
        Parameters::Coalescing => &COALESCING,
        Parameters::Pause => &PAUSE,
    }
}

/// The parameters that an interface has; `None` where its driver has none of them, or there is no such interface.
pub(super) fn read(interface: &str, parameters: Parameters) -> Result<Value, Error> {
    let group = group(parameters);
    let asked = Family::open().and_then(|family| family.ask(message(group.get, interface)));
    match asked {
        Ok(reply) => Ok(reply.and_then(|reply| value(group, &reply.attributes))),
        Err(error) if is_not_there(&error) => Ok(None),
        Err(error) => Err(Error::read(place(interface, parameters), error.into())),
    }
}

pub(super) fn write(interface: &str, parameters: Parameters, value: &Value) -> Result<(), Error> {
    let group = group(parameters);
    let failed = |error: Refused| Error::write(place(interface, parameters), error.into());
    let mut request = message(group.set, interface);
    let value = value.as_deref().unwrap_or_default();
    let attributes = attributes(group, value).ok_or_else(|| Error::Strange {
        place: place(interface, parameters).to_string(),
        text: value.into(),
        expected: "list of parameters",
    })?;
    request.attributes.extend(attributes);
    let family = Family::open().map_err(failed)?;
    family.ask(request).map(drop).map_err(failed)
}

fn place(interface: &str, parameters: Parameters) -> Place {
    Place::Ethtool {
        interface: interface.into(),
        parameters,
    }
}

/// A request that concerns an interface.
fn message(command: u8, interface: &str) -> Message {
    let name = DefaultNla::new(HEADER_NAME, [interface.as_bytes(), b"\0"].concat());
    Message {
        command,
        attributes: vec![(HEADER | NLA_F_NESTED, emitted(&[name][..]))],
    }
}

/// The answer of the kernel, in our words.
fn value(group: &Group, attributes: &[(u16, Vec<u8>)]) -> Value {
    let word = |&(name, number, form): &Parameter| {
        let (_, bytes) = attributes.iter().find(|(found, _)| *found == number)?;
        let value = match form {
            Type::Switch => match bytes.first()? {
                0 => "off".into(),
                _ => "on".into(),
            },
            Type::Number => u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?).to_string(),
        };
        Some(format!("{name} {value}"))
    };
    let words: Vec<String> = group.parameters.iter().filter_map(word).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Our words as the kernel takes them; `None` where they are none.
fn attributes(group: &Group, value: &str) -> Option<Vec<(u16, Vec<u8>)>> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let attribute = |pair: &[&str]| {
        let [name, value] = pair else { return None };
        let (_, number, form) = group.parameters.iter().find(|(known, ..)| known == name)?;
        let bytes = match (form, *value) {
            (Type::Switch, "on") => vec![1],
            (Type::Switch, "off") => vec![0],
            (Type::Switch, _) => return None,
            (Type::Number, digits) => digits.parse::<u32>().ok()?.to_ne_bytes().into(),
        };
        Some((*number, bytes))
    };
    words.chunks(2).map(attribute).collect()
}

/// A message of the family, to the kernel or from it.
#[derive(Debug)]
struct Message {
    command: u8,
    attributes: Vec<(u16, Vec<u8>)>,
}

impl Message {
    fn attributes(&self) -> Vec<DefaultNla> {
        let attributes = self.attributes.iter().cloned();
        attributes
            .map(|(kind, value)| DefaultNla::new(kind, value))
            .collect()
    }
}

impl GenlFamily for Message {
    fn family_name() -> &'static str {
        FAMILY
    }

    fn command(&self) -> u8 {
        self.command
    }

    fn version(&self) -> u8 {
        VERSION
    }
}

impl Emitable for Message {
    fn buffer_len(&self) -> usize {
        self.attributes().as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.attributes().as_slice().emit(buffer);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Message {
    fn parse_with_param(bytes: &[u8], header: GenlHeader) -> Result<Self, DecodeError> {
        let attributes = NlasIterator::new(bytes).map(|attribute| {
            let attribute = attribute?;
            Ok((attribute.kind(), attribute.value().to_vec()))
        });
        Ok(Message {
            command: header.cmd,
            attributes: attributes.collect::<Result<_, DecodeError>>()?,
        })
    }
}

fn emitted(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum Refused {
    /// No such family.
    #[error("this kernel has no netlink family for ethtool, which Linux 5.7 and newer have")]
    NoFamily,
    /// The kernel says so.
    #[error("{source}{}", .words.as_ref().map_or_else(String::new, |words| format!(": {words}")))]
    Kernel {
        source: io::Error,
        words: Option<String>,
    },
    /// It could not be asked.
    #[error(transparent)]
    Socket(#[from] io::Error),
    /// It said what nobody understands.
    #[error("the kernel's answer cannot be read: {0}")]
    Strange(DecodeError),
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        match refused {
            // The kind of this error tells of missing permissions.
            Refused::Socket(error) => error,
            Refused::Kernel {
                source,
                words: None,
            } => source,
            other => io::Error::other(other.to_string()),
        }
    }
}

/// True if the kernel says that the driver has no such parameters, or that there is no such interface.
fn is_not_there(refused: &Refused) -> bool {
    let Refused::Kernel { source, .. } = refused else {
        return false;
    };
    let errno = source.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EOPNOTSUPP | Errno::ENODEV))
}

/// The kernel's family, which it may be asked through.
struct Family {
    socket: Socket,
    id: u16,
}

impl Family {
    fn open() -> Result<Self, Refused> {
        let mut socket = Socket::new(NETLINK_GENERIC)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Reasons in words, and without the request again before them.
        socket.set_ext_ack(true)?;
        socket.set_cap_ack(true)?;
        let request = GenlMessage::from_payload(GenlCtrl {
            cmd: GenlCtrlCmd::GetFamily,
            nlas: vec![GenlCtrlAttrs::FamilyName(FAMILY.into())],
        });
        let reply = exchange(&socket, request).map_err(|refused| match refused {
            Refused::Kernel { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Refused::NoFamily
            }
            other => other,
        })?;
        let attributes = reply.map(|reply| reply.nlas).unwrap_or_default();
        let id = attributes
            .into_iter()
            .find_map(|attribute| match attribute {
                GenlCtrlAttrs::FamilyId(id) => Some(id),
                _ => None,
            });
        let id = id.ok_or(Refused::NoFamily)?;
        Ok(Family { socket, id })
    }

    /// Sends a request, and gives what the kernel answers beside that it is done.
    fn ask(&self, request: Message) -> Result<Option<Message>, Refused> {
        let mut request = GenlMessage::from_payload(request);
        request.set_resolved_family_id(self.id);
        exchange(&self.socket, request)
    }
}

/// Sends a request and waits until the kernel says that it is done.
fn exchange<M>(socket: &Socket, request: GenlMessage<M>) -> Result<Option<M>, Refused>
where
    M: std::fmt::Debug,
    GenlMessage<M>: NetlinkSerializable + NetlinkDeserializable<Error = DecodeError>,
{
    let mut request = NetlinkMessage::from(request);
    request.header.flags = NLM_F_REQUEST | NLM_F_ACK;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut answer = None;
    loop {
        let (bytes, _) = socket.recv_from_full()?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let reply =
                NetlinkMessage::<GenlMessage<M>>::deserialize(rest).map_err(Refused::Strange)?;
            let length = (reply.header.length as usize).next_multiple_of(4);
            rest = rest.get(length..).unwrap_or_default();
            match reply.payload {
                NetlinkPayload::Error(ErrorMessage { code: None, .. }) => return Ok(answer),
                NetlinkPayload::Error(error) => {
                    return Err(Refused::Kernel {
                        source: error.to_io(),
                        words: words(&error.header),
                    });
                }
                NetlinkPayload::InnerMessage(message) => answer = Some(message.into_parts().1),
                _ => {}
            }
        }
    }
}

/// The reason in an error, behind the header of the request.
fn words(bytes: &[u8]) -> Option<String> {
    const REQUEST: usize = 16;
    let mut attributes = NlasIterator::new(bytes.get(REQUEST..)?).flatten();
    let words = attributes.find(|attribute| attribute.kind() == ERROR_WORDS)?;
    let text = String::from_utf8_lossy(words.value());
    Some(text.trim_end_matches('\0').into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_the_kernel_takes_and_gives() {
        for (parameters, text, bytes) in [
            (
                Parameters::Coalescing,
                "adaptive-rx on rx-usecs 300",
                vec![(11, vec![1]), (2, 300_u32.to_ne_bytes().to_vec())],
            ),
            (
                Parameters::Pause,
                "autoneg off rx off tx on",
                vec![(2, vec![0]), (3, vec![0]), (4, vec![1])],
            ),
        ] {
            let group = group(parameters);
            assert_eq!(attributes(group, text), Some(bytes.clone()));
            assert_eq!(value(group, &bytes).as_deref(), Some(text));
        }
        for wrong in ["rx", "rx 1", "rx-usecs 0", "rx on tx"] {
            assert_eq!(attributes(&PAUSE, wrong), None, "{wrong}");
        }
        // A value that a device does not have is not in the answer.
        assert_eq!(value(&PAUSE, &[(1, vec![0; 8])]), None);
        assert_eq!(value(&COALESCING, &[(2, vec![1])]), None);
    }

    #[test]
    fn what_a_device_does_not_have_is_told_from_what_cannot_be_asked() {
        // The loopback has no driver that would know of either; the other one is not there.
        for interface in ["lo", "nothing-of-this"] {
            for parameters in [Parameters::Pause, Parameters::Coalescing] {
                match read(interface, parameters) {
                    Ok(value) => assert_eq!(value, None),
                    Err(error) => jitterlab_skip::skip(format_args!("{error:?}")),
                }
            }
        }
        let value = Some("rx off".to_string());
        let refused = write("lo", Parameters::Pause, &value).unwrap_err();
        assert!(!format!("{refused:?}").is_empty());
    }

    #[test]
    fn reasons_of_the_kernel_are_read() {
        let reason = DefaultNla::new(ERROR_WORDS, b"device is busy\0".to_vec());
        let other = DefaultNla::new(2, vec![0; 4]);
        let bytes = [vec![0; 16], emitted(&[other, reason])].concat();
        assert_eq!(words(&bytes).as_deref(), Some("device is busy"));
        assert_eq!(words(&[0; 16]), None);
        assert_eq!(words(&[0; 3]), None);
    }
}
