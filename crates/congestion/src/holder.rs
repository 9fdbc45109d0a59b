//! Registers what trials ask for, and keeps it.

use crate::algorithms::Algorithm;
use crate::kernel;
use crate::registered::Registered;
use crate::registration::Refused;

/// The congestion controls that this process has registered. Dropping it unregisters them; a
/// connection that uses one keeps it until it closes.
#[derive(Default)]
pub struct Holder {
    held: Vec<Registered>,
}

impl Holder {
    /// The name to set on a socket for the congestion control that a trial names: that of the kernel's
    /// own where it has one, else that of ours, which is registered if nobody has yet. Another agent on
    /// the same machine may have. Names that are not ours come back as they are.
    ///
    /// # Errors
    /// The kernel has none and refuses ours.
    pub fn name_for(&mut self, wanted: &str) -> Result<String, Refused> {
        let Some(algorithm) = Algorithm::named(wanted) else { return Ok(wanted.to_owned()) };
        if wanted == algorithm.name && kernel::offers(wanted) {
            return Ok(wanted.to_owned());
        }
        self.register(algorithm)?;
        Ok(algorithm.own_name.to_owned())
    }

    fn register(&mut self, algorithm: &'static Algorithm) -> Result<(), Refused> {
        if self.held.iter().any(|held| held.algorithm.name == algorithm.name) || is_registered(algorithm) {
            return Ok(());
        }
        match Registered::new(algorithm) {
            Ok(registered) => self.held.push(registered),
            // Another agent was quicker.
            Err(_) if is_registered(algorithm) => {}
            Err(refused) => return Err(refused),
        }
        Ok(())
    }
}

fn is_registered(algorithm: &Algorithm) -> bool {
    kernel::available().iter().any(|name| name == algorithm.own_name)
}
