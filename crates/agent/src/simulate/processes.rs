//! The processes on the two end systems: a stream's writer and reader, or the user of a workload, for each connection.

use schema::simulation::Simulation;
use schema::trial::{Role, Stop};
use schema::workload::Workload;
use sim::application::{Application, Scripted};
use workload::user::Ending;

/// Connections of a host at most, of which each has its number in every segment.
const MAX_CONNECTIONS: u32 = 10_000;

/// The near and the far processes, in the order of their connections.
///
/// # Errors
/// What the model's processes cannot do, in a sentence.
pub fn processes(asked: &Simulation) -> Result<[Vec<Application>; 2], String> {
    let count = asked.workload.as_ref().map_or(asked.connections_count, strands_count);
    if !(1..=MAX_CONNECTIONS).contains(&count) {
        return Err(format!("connections: a host of the model has 1 to {MAX_CONNECTIONS}, not {count}"));
    }
    let Some(workload) = &asked.workload else {
        let [near, far] = stream(asked)?;
        return Ok([vec![near; count as usize], vec![far; count as usize]]);
    };
    let process = |is_near, user| {
        let scripted = Scripted::new(workload, is_near, user, ending(&asked.stop));
        scripted.map(|process| Application::Scripted(Box::new(process))).map_err(|refusal| format!("workload {}: {refusal}", workload.name))
    };
    let end = |is_near| (0..count).map(|user| process(is_near, user)).collect::<Result<Vec<_>, String>>();
    let ends = [end(true)?, end(false)?];
    if count > 1 && workload.groups.iter().any(|group| group.transactions.len() > 1) {
        let name = &workload.name;
        return Err(format!("workload {name}: the model has no connections that wait for one another between transactions"));
    }
    Ok(ends)
}

/// The users of all groups, each with a connection.
fn strands_count(workload: &Workload) -> u32 {
    workload.groups.iter().map(|group| group.strands_count).fold(0, u32::saturating_add)
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
