//! What runs on the two end systems: a stream's writer and reader, or the strand of a workload.

use schema::simulation::Simulation;
use schema::trial::{Role, Stop};
use sim::application::{Application, Scripted};
use workload::strand::Ending;

/// The near and the far process.
///
/// # Errors
/// What the model's processes cannot do, in a sentence.
pub fn processes(asked: &Simulation) -> Result<[Application; 2], String> {
    match &asked.workload {
        Some(workload) => {
            let process =
                |is_near| Scripted::new(workload, is_near, 0, ending(&asked.stop)).map(|one| Application::Scripted(Box::new(one)));
            let both = [process(true), process(false)];
            let [near, far] = both.map(|one| one.map_err(|refusal| format!("workload {}: {refusal}", workload.name)));
            Ok([near?, far?])
        }
        None => stream(asked),
    }
}

fn stream(asked: &Simulation) -> Result<[Application; 2], String> {
    let left_bytes = match asked.stop {
        Stop::Bytes { payload_bytes } => payload_bytes,
        Stop::Duration { .. } => u64::MAX,
        Stop::Workload => return Err("stop: a stream does not end by itself; ask for bytes or a duration".to_owned()),
    };
    if asked.write_size_bytes == 0 || asked.read_size_bytes == 0 {
        return Err("write_size_bytes and read_size_bytes must be at least 1".to_owned());
    }
    let writer = Application::Writer { call_bytes: asked.write_size_bytes, left_bytes };
    let reader = Application::Reader { call_bytes: asked.read_size_bytes, left_bytes };
    Ok(match asked.near_role {
        Role::Sender => [writer, reader],
        Role::Receiver => [reader, writer],
    })
}

fn ending(stop: &Stop) -> Ending {
    match *stop {
        Stop::Bytes { payload_bytes } => Ending { payload_bytes: Some(payload_bytes), ..Ending::default() },
        Stop::Duration { warmup_ns, measure_ns, cooldown_ns } => {
            let until_ns = warmup_ns.saturating_add(measure_ns).saturating_add(cooldown_ns);
            Ending { until_ns: Some(until_ns), ..Ending::default() }
        }
        Stop::Workload => Ending::default(),
    }
}
