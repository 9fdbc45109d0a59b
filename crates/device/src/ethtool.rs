//! The only unsafe code of this crate: `ioctl` on a socket with a device name.
//!
//! Commands and layouts are those of `linux/ethtool.h`. Every structure is passed as an array of
//! 32-bit words whose first word is the command.

use std::io;
use std::os::fd::RawFd;

/// `ETHTOOL_GRXCSUM`.
pub(crate) const GET_RX_CHECKSUM: u32 = 0x14;
/// `ETHTOOL_GTXCSUM`.
pub(crate) const GET_TX_CHECKSUM: u32 = 0x16;
/// `ETHTOOL_GTSO`.
pub(crate) const GET_TSO: u32 = 0x1e;
/// `ETHTOOL_STSO`.
pub(crate) const SET_TSO: u32 = 0x1f;
/// `ETHTOOL_GGSO`.
pub(crate) const GET_GSO: u32 = 0x23;
/// `ETHTOOL_SGSO`.
pub(crate) const SET_GSO: u32 = 0x24;
/// `ETHTOOL_GGRO`.
pub(crate) const GET_GRO: u32 = 0x2b;
/// `ETHTOOL_SGRO`.
pub(crate) const SET_GRO: u32 = 0x2c;

const GET_DRIVER: u32 = 0x03;
const GET_CHANNELS: u32 = 0x3c;
const GET_LINK_SETTINGS: u32 = 0x4c;

/// Words of `struct ethtool_drvinfo`: behind the command stand the driver's name, its version and that of its firmware.
const DRIVER_WORDS: usize = 49;
/// Words of one of these texts.
const TEXT_WORDS: usize = 8;
/// Words of `struct ethtool_channels`.
const CHANNELS_WORDS: usize = 9;
/// Words of `struct ethtool_link_settings` before its link mode masks.
const LINK_SETTINGS_WORDS: usize = 12;
/// The largest mask length the structure's signed byte can state, three masks.
const LINK_MASKS_WORDS: usize = 3 * 127;

/// Reads a `struct ethtool_value`.
pub(crate) fn value(socket: RawFd, device: &str, command: u32) -> io::Result<u32> {
    let mut buffer = [command, 0];
    call(socket, device, &mut buffer)?;
    Ok(buffer[1])
}

/// Writes a `struct ethtool_value`.
pub(crate) fn set_value(socket: RawFd, device: &str, command: u32, value: u32) -> io::Result<()> {
    call(socket, device, &mut [command, value])
}

/// Name of the driver, its version and that of the device's firmware; empty where there is none.
pub(crate) fn driver(socket: RawFd, device: &str) -> io::Result<[String; 3]> {
    let mut buffer: [u32; DRIVER_WORDS] = [0; DRIVER_WORDS];
    buffer[0] = GET_DRIVER;
    call(socket, device, &mut buffer)?;
    Ok([0, 1, 2].map(|text| {
        let of_text = buffer[1 + text * TEXT_WORDS..].iter().take(TEXT_WORDS);
        let bytes: Vec<u8> = of_text.flat_map(|word| word.to_ne_bytes()).take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }))
}

/// Receive and transmit channels in use; a combined channel counts as one of each.
pub(crate) fn channels(socket: RawFd, device: &str) -> io::Result<(u32, u32)> {
    let mut buffer = [0; CHANNELS_WORDS];
    buffer[0] = GET_CHANNELS;
    call(socket, device, &mut buffer)?;
    let [.., rx, tx, _other, combined] = buffer;
    Ok((rx + combined, tx + combined))
}

/// Link speed in Mbit/s; `None` when the device states none.
///
/// The kernel answers the first call with the negated length of its link mode masks only; the
/// second call, which repeats that length, is answered in full.
pub(crate) fn speed_mbps(socket: RawFd, device: &str) -> io::Result<Option<u32>> {
    const MASK_LENGTH_WORD: usize = 3;
    const MASK_LENGTH_BYTE: usize = 3;
    let mut buffer = [0; LINK_SETTINGS_WORDS + LINK_MASKS_WORDS];
    buffer[0] = GET_LINK_SETTINGS;
    call(socket, device, &mut buffer)?;
    let negated = buffer[MASK_LENGTH_WORD].to_ne_bytes()[MASK_LENGTH_BYTE];
    let mut bytes = [0; 4];
    bytes[MASK_LENGTH_BYTE] = negated.wrapping_neg();
    buffer = [0; LINK_SETTINGS_WORDS + LINK_MASKS_WORDS];
    buffer[0] = GET_LINK_SETTINGS;
    buffer[MASK_LENGTH_WORD] = u32::from_ne_bytes(bytes);
    call(socket, device, &mut buffer)?;
    Ok(Some(buffer[1]).filter(|&speed| speed != 0 && speed != u32::MAX))
}

/// MTU in bytes.
pub(crate) fn mtu_bytes(socket: RawFd, device: &str) -> io::Result<u32> {
    let mut request = request_for(device)?;
    // SAFETY: SIOCGIFMTU reads the name from, and writes the MTU into, the `ifreq` that `request`
    // points to; it is a live local value of that type.
    let done = unsafe { libc::ioctl(socket, libc::SIOCGIFMTU, &raw mut request) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so the kernel wrote the MTU member of the union.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    u32::try_from(mtu).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}

/// Runs the ethtool command in `buffer[0]`. The callers in this file size `buffer` for the structure
/// that belongs to their command.
fn call(socket: RawFd, device: &str, buffer: &mut [u32]) -> io::Result<()> {
    let mut request = request_for(device)?;
    request.ifr_ifru.ifru_data = buffer.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL reads the `ifreq` that `request` points to, and reads and writes the
    // structure of the command behind `ifru_data`; `buffer` is at least as long as that structure
    // and stays borrowed during the call.
    let done = unsafe { libc::ioctl(socket, libc::SIOCETHTOOL, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// An `ifreq` that names the device and is zero elsewhere.
fn request_for(device: &str) -> io::Result<libc::ifreq> {
    // SAFETY: `ifreq` consists of bytes, integers and pointers, for which all zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("device name {device} is longer than the kernel's limit")));
    }
    for (to, &from) in request.ifr_name.iter_mut().zip(device.as_bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    Ok(request)
}
