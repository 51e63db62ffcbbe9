#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

use nix::errno::Errno;
use rdma_sys::{
    ibv_close_device, ibv_context, ibv_device, ibv_device_attr, ibv_free_device_list,
    ibv_get_device_list, ibv_get_device_name, ibv_gid, ibv_gid_entry, ibv_open_device,
    ibv_port_attr, ibv_port_state, ibv_query_device, ibv_query_gid_table, ibv_query_port,
};

use crate::port::{GidEntry, gids};
use crate::{Error, Mtu, Port};

/// A device that is open.
#[derive(Debug)]
pub struct Device {
    context: NonNull<ibv_context>,
    name: String,
}

/// Every port of a device, or of all of them.
///
/// # Errors
/// There is no libibverbs, no device, or not the one that is wanted, or one cannot be opened.
pub fn ports(device: Option<&str>) -> Result<Vec<Port>, Error> {
    let names = match device {
        Some(name) => vec![name.to_string()],
        None => Device::names()?,
    };
    if names.is_empty() {
        return Err(Error::NoDevice);
    }
    let mut ports = Vec::new();
    for name in names {
        ports.extend(Device::open(&name)?.ports()?);
    }
    Ok(ports)
}

// SAFETY: an open device is used by any thread; libibverbs is safe for that.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Device {
    /// The names of all devices that are there, as libibverbs lists them.
    ///
    /// # Errors
    /// libibverbs cannot list them.
    pub fn names() -> Result<Vec<String>, Error> {
        Ok(List::get()?.names())
    }

    /// Opens a device.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be opened.
    pub fn open(name: &str) -> Result<Arc<Self>, Error> {
        let list = List::get()?;
        let names = list.names();
        let Some(index) = names.iter().position(|n| n == name) else {
            return Err(match names.is_empty() {
                true => Error::NoDevice,
                false => Error::NoSuchDevice {
                    name: name.into(),
                    present: names.join(", "),
                },
            });
        };
        // SAFETY: the device is one of the list, which lives until the end of this function; an open device
        // does not need the list.
        let context = unsafe { ibv_open_device(list.devices()[index]) };
        let context =
            NonNull::new(context).ok_or_else(|| Error::of_errno("ibv_open_device", name))?;
        Ok(Arc::new(Device {
            context,
            name: name.into(),
        }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All of its ports.
    ///
    /// # Errors
    /// The device does not tell.
    pub fn ports(&self) -> Result<Vec<Port>, Error> {
        // SAFETY: it holds numbers only, for which zeros are values.
        let mut device: ibv_device_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the context is open as long as `self` is there, and `device` may be written.
        let code = unsafe { ibv_query_device(self.context(), &mut device) };
        if code != 0 {
            return Err(Error::of_code("ibv_query_device", &self.name, code));
        }
        let attributes: Vec<(u8, ibv_port_attr)> = (1..=device.phys_port_cnt)
            .map(|number| Ok((number, self.port(number)?)))
            .collect::<Result<_, Error>>()?;
        let most = attributes.iter();
        let most = most.map(|(_, port)| usize::try_from(port.gid_tbl_len).unwrap_or(0));
        let entries = self.gid_entries(most.sum())?;
        let ports = attributes.iter();
        Ok(ports
            .map(|&(number, ref port)| self.described(number, port, &entries))
            .collect())
    }

    fn port(&self, number: u8) -> Result<ibv_port_attr, Error> {
        // SAFETY: it holds numbers only, for which zeros are values.
        let mut port: ibv_port_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the context is open, and `port` may be written.
        let code = unsafe { ibv_query_port(self.context(), number, &mut port) };
        if code != 0 {
            return Err(Error::of_code("ibv_query_port", &self.name, code));
        }
        Ok(port)
    }

    /// The GIDs in use of all ports, at most so many.
    fn gid_entries(&self, most: usize) -> Result<Vec<GidEntry>, Error> {
        // The kernel refuses to fill a table without room.
        if most == 0 {
            return Ok(Vec::new());
        }
        let unused = ibv_gid_entry {
            gid: ibv_gid { raw: [0; 16] },
            gid_index: 0,
            port_num: 0,
            gid_type: 0,
            ndev_ifindex: 0,
        };
        let mut entries = vec![unused; most];
        // SAFETY: the context is open, and as many entries as are said may be written.
        let found = unsafe { ibv_query_gid_table(self.context(), entries.as_mut_ptr(), most, 0) };
        let Ok(found) = usize::try_from(found) else {
            let code = i32::try_from(-found).unwrap_or(i32::MAX);
            return Err(Error::of_code("ibv_query_gid_table", &self.name, code));
        };
        let entries = entries.iter().take(found);
        let entry = |entry: &ibv_gid_entry| GidEntry {
            port: entry.port_num,
            index: entry.gid_index,
            kind: entry.gid_type,
            // SAFETY: both fields of the union are 16 bytes, which were written above or by libibverbs.
            bytes: unsafe { entry.gid.raw },
        };
        Ok(entries.map(entry).collect())
    }

    fn described(&self, number: u8, port: &ibv_port_attr, entries: &[GidEntry]) -> Port {
        const LINK_LAYER_ETHERNET: u8 = 2;
        Port {
            device: self.name.clone(),
            number,
            is_active: port.state == ibv_port_state::IBV_PORT_ACTIVE,
            is_ethernet: port.link_layer == LINK_LAYER_ETHERNET,
            lid: port.lid,
            mtu: u8::try_from(port.active_mtu)
                .ok()
                .and_then(Mtu::of_code)
                .unwrap_or(Mtu::MOST),
            longest: port.max_msg_sz,
            gids: gids(number, entries),
        }
    }

    /// The open device, for calls.
    pub(crate) fn context(&self) -> *mut ibv_context {
        self.context.as_ptr()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: it is open, and whatever was made from it keeps it alive: nothing is left.
        unsafe { ibv_close_device(self.context()) };
    }
}

/// A list of devices.
struct List {
    start: NonNull<*mut ibv_device>,
    length: usize,
}

impl List {
    fn get() -> Result<Self, Error> {
        let mut length = 0;
        // SAFETY: `length` may be written.
        let start = unsafe { ibv_get_device_list(&mut length) };
        match NonNull::new(start) {
            Some(start) => Ok(List {
                start,
                length: usize::try_from(length).unwrap_or(0),
            }),
            None => Err(match Errno::last() {
                // The bindings give this error for a function that no library has given.
                Errno::EOPNOTSUPP => Error::NoLibrary,
                // The kernel has no RDMA.
                Errno::ENOSYS => Error::NoDevice,
                _ => Error::of_errno("ibv_get_device_list", "this machine"),
            }),
        }
    }

    fn devices(&self) -> &[*mut ibv_device] {
        // SAFETY: libibverbs has given as many pointers, which stay until the list is freed with `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    fn names(&self) -> Vec<String> {
        let name = |&device: &*mut ibv_device| {
            // SAFETY: the device is one of the list; its name lives as long, and is copied at once.
            let name = unsafe { CStr::from_ptr(ibv_get_device_name(device)) };
            name.to_string_lossy().into_owned()
        };
        self.devices().iter().map(name).collect()
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: it is a list of libibverbs that was not freed yet; no pointer out of it is kept.
        unsafe { ibv_free_device_list(self.start.as_ptr()) };
    }
}
