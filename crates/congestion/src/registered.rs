//! A congestion control that this process has given the kernel.

use libbpf_rs::btf::Btf;
use libbpf_rs::{Link, MapCore, MapType, Object, ObjectBuilder, set_print};

use crate::algorithms::Algorithm;
use crate::guard::Guard;
use crate::registration::Refused;

/// Linux before 6.1 lacks functions that the programs call, or lets none call them.
const OLDEST_KERNEL: (u32, u32) = (6, 1);
/// include/uapi/linux/bpf.h; Linux 6.4: the registration ends with the file descriptor of a link.
const BPF_F_LINK: u32 = 1 << 13;

/// A registration; the kernel forgets the name when it is dropped, or the process ends.
pub(crate) struct Registered {
    pub algorithm: &'static Algorithm,
    // Dropped in this order: the link unregisters, the guard then finds nothing to do.
    _link: Link,
    _guard: Option<Guard>,
    _object: Object,
}

impl Registered {
    /// Loads and registers.
    ///
    /// # Errors
    /// The kernel refuses, because it has the name already, too.
    pub fn new(algorithm: &'static Algorithm) -> Result<Self, Refused> {
        let (object, has_link) = load(algorithm)?;
        Self::register(algorithm, object, !has_link)
    }

    /// As before Linux 6.4, without a link, and without a guard: it outlives a process that is killed.
    #[cfg(test)]
    pub fn without_link(algorithm: &'static Algorithm) -> Result<Self, Refused> {
        let object = load_with(algorithm, 0).map_err(|error| Refused { reason: error.to_string() })?;
        Self::register(algorithm, object, false)
    }

    fn register(algorithm: &'static Algorithm, mut object: Object, needs_guard: bool) -> Result<Self, Refused> {
        let refused = |error: libbpf_rs::Error| Refused { reason: format!("the kernel does not register {}: {error}", algorithm.own_name) };
        let Some(mut map) = object.maps_mut().find(|map| map.map_type() == MapType::StructOps) else {
            return Err(Refused { reason: format!("the object of {} holds no operations", algorithm.name) });
        };
        let number = map.info().map_err(refused)?.info.id;
        let guard = if needs_guard { Some(Guard::set(number)?) } else { None };
        let link = map.attach_struct_ops().map_err(refused)?;
        Ok(Self { algorithm, _link: link, _guard: guard, _object: object })
    }
}

/// Tries whether the kernel takes the programs; registers nothing.
///
/// # Errors
/// Why not.
pub(crate) fn try_load(algorithm: &Algorithm) -> Result<(), Refused> {
    load(algorithm).map(|_| ())
}

/// The programs in the kernel, and whether a registration would end by itself.
fn load(algorithm: &Algorithm) -> Result<(Object, bool), Refused> {
    let refused = |reason: &str| Err(Refused { reason: reason.to_owned() });
    let (major, minor) = kernel_version();
    if (major, minor) < OLDEST_KERNEL {
        return refused(&format!("needs Linux 6.1 or newer; this is {major}.{minor}"));
    }
    if Btf::from_vmlinux().is_err() {
        return refused("this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)");
    }
    if std::env::var_os("WHYPERF_BPF_LOG").is_none() {
        // What libbpf has to say is said once and in a sentence.
        set_print(None);
    }
    let with_link = load_with(algorithm, BPF_F_LINK);
    match with_link {
        Ok(object) => Ok((object, true)),
        Err(error) if is_forbidden(&error) => {
            refused("the kernel does not let this user load congestion controls; run as root, or with CAP_BPF and CAP_NET_ADMIN")
        }
        Err(_) => match load_with(algorithm, 0) {
            Ok(object) => Ok((object, false)),
            Err(error) => refused(&format!("the kernel refuses the programs: {error}")),
        },
    }
}

fn load_with(algorithm: &Algorithm, map_flags: u32) -> libbpf_rs::Result<Object> {
    let mut object = ObjectBuilder::default().open_memory(algorithm.object)?;
    for mut map in object.maps_mut() {
        if map.map_type() == MapType::StructOps {
            map.set_map_flags(map_flags)?;
        }
    }
    object.load()
}

/// EPERM; a verifier that dislikes a program says EACCES, which is of the same kind.
fn is_forbidden(error: &libbpf_rs::Error) -> bool {
    format!("{error:#}").contains("(os error 1)")
}

fn kernel_version() -> (u32, u32) {
    let release = nix::sys::utsname::uname().map(|names| names.release().to_string_lossy().into_owned()).unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
