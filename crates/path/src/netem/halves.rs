//! The path namespace in two halves, each a namespace, so that a direction leaves two devices one after the
//! other: near - left - right - far.
//!
//! The halves route between their two devices. The ends send to each other's hardware address, as
//! they do without a path, so the halves' outer devices bear it: that of the far host is on the near
//! side. Neither half has an address of its own.

use std::fs;
use std::io;

use schema::testbed::TestbedSpec;

use crate::ends::{End, FAR, INNER_LEFT, INNER_RIGHT, NEAR, Plug, TOWARDS_FAR, TOWARDS_NEAR};
use crate::error::PathError;
use crate::netns::Netns;
use crate::steering::Steering;
use crate::{link, offload, settings, steering};

/// A half: its namespace and its devices, by the end on whose side each is.
#[derive(Debug)]
pub struct Half {
    /// The namespace.
    pub netns: Netns,
    /// Its device towards the near host.
    pub near_plug: Plug,
    /// Its device towards the far host.
    pub far_plug: Plug,
}

/// Makes both halves and plugs them together and to the ends, whose devices stay down.
///
/// # Errors
/// The kernel refuses.
pub fn build(near: &Netns, far: &Netns, mtu_bytes: u32) -> Result<[Half; 2], PathError> {
    let towards_near = Plug { hardware: FAR.hardware, ..TOWARDS_NEAR };
    let towards_far = Plug { hardware: NEAR.hardware, ..TOWARDS_FAR };
    let left = Half { netns: Netns::new()?, near_plug: towards_near, far_plug: INNER_LEFT };
    let right = Half { netns: Netns::new()?, near_plug: INNER_RIGHT, far_plug: towards_far };
    for half in [&left, &right] {
        half.netns.run(|| settings::apply().and_then(|()| settings::apply_forwarding()))?;
    }
    near.run(|| link::create_pair(NEAR.plug(), towards_near, &left.netns, mtu_bytes))?;
    left.netns.run(|| link::create_pair(INNER_LEFT, INNER_RIGHT, &right.netns, mtu_bytes))?;
    far.run(|| link::create_pair(FAR.plug(), towards_far, &right.netns, mtu_bytes))?;
    Ok([left, right])
}

impl Half {
    /// Turns segmentation off and brings the devices up.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn bring_up(&self, spec: &TestbedSpec, cpu: Option<u32>) -> Result<(), PathError> {
        let cut = TestbedSpec { tso: false, gso: false, gro: false, ..spec.clone() };
        for plug in [self.near_plug, self.far_plug] {
            self.netns.run(|| {
                offload::set(plug.device, &cut)?;
                link::bring_up(plug.device)
            })?;
            if let Some(cpu) = cpu {
                self.netns.run(|| steering::set(plug.device, &Steering::to(cpu)).map(drop))?;
            }
        }
        Ok(())
    }

    /// Waits until both devices pass packets, and sets the routes.
    ///
    /// # Errors
    /// They do not, or the kernel refuses.
    pub fn route(&self, ipv6: bool) -> Result<(), PathError> {
        let next = |plug: Plug| match plug.device {
            device if device == TOWARDS_NEAR.device => NEAR.hardware,
            device if device == TOWARDS_FAR.device => FAR.hardware,
            device if device == INNER_LEFT.device => INNER_RIGHT.hardware,
            _ => INNER_LEFT.hardware,
        };
        let towards = |end: End, plug: Plug| link::route(end, plug.device, next(plug), ipv6);
        self.netns.run(|| {
            [self.near_plug, self.far_plug].iter().try_for_each(|plug| link::await_up(plug.device))?;
            towards(NEAR, self.near_plug)?;
            towards(FAR, self.far_plug)
        })
    }
}

/// Judges by the kernel's refusal to add a discipline whether it lacks netem.
pub fn refusal(error: io::Error, device: &str) -> PathError {
    if error.kind() == io::ErrorKind::NotFound {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let sentence = format!(
            "this kernel ({}) lacks a queueing discipline that path_implementation netem takes (netem, tbf, codel or red; on Debian \
             and Ubuntu they come with the full kernel package); choose path_implementation = \"router\"",
            kernel.trim()
        );
        return PathError::Path { sentence };
    }
    PathError::system(format!("set the queueing discipline of {device}"), error)
}
