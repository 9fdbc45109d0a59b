//! Kernel, machine, distribution, memory: one-line facts.

use std::fs;

/// The file's text; empty where it cannot be read.
pub(super) fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

pub(super) fn exists(file: &str) -> bool {
    fs::exists(file).unwrap_or(false)
}

fn read_word(file: &str) -> String {
    read(file).trim().to_owned()
}

pub(super) fn boot_id() -> String {
    read_word("/proc/sys/kernel/random/boot_id")
}

pub(super) fn hostname() -> String {
    read_word("/proc/sys/kernel/hostname")
}

pub(super) fn kernel() -> String {
    read_word("/proc/sys/kernel/osrelease")
}

/// The machine as `uname -m` gives it, or what the agent was built for on kernels before 6.1.
pub(super) fn machine() -> String {
    let arch = read_word("/proc/sys/kernel/arch");
    if arch.is_empty() { std::env::consts::ARCH.to_owned() } else { arch }
}

/// The distribution's pretty name (os-release(5)).
pub(super) fn distribution() -> String {
    let found = ["/etc/os-release", "/usr/lib/os-release"].map(read).iter().find_map(|text| pretty_name(text));
    found.unwrap_or_default()
}

fn pretty_name(os_release: &str) -> Option<String> {
    let quoted = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(quoted.trim_matches(['"', '\'']).to_owned())
}

/// The CPU's model: from `/proc/cpuinfo` where it stands there, from the device tree elsewhere.
pub(super) fn cpu_model(cpu_information: &str) -> String {
    let keys = ["model name", "Model Name", "cpu model", "Processor", "Hardware", "cpu"];
    let found = keys.iter().find_map(|key| field(cpu_information, key));
    found.map_or_else(|| read("/proc/device-tree/model").trim_matches(['\0', '\n']).to_owned(), str::to_owned)
}

/// Value of the first line `key : value`.
pub(super) fn field<'text>(text: &'text str, key: &str) -> Option<&'text str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

pub(super) fn memory_bytes() -> u64 {
    let table = read("/proc/meminfo");
    let kibibytes = field(&table, "MemTotal").and_then(|value| value.split(' ').next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

pub(super) fn clock_source() -> String {
    read_word("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_with_and_without_quotes() {
        assert_eq!(pretty_name("ID=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n").as_deref(), Some("Debian GNU/Linux 12"));
        assert_eq!(pretty_name("PRETTY_NAME=Arch\n").as_deref(), Some("Arch"));
        assert_eq!(pretty_name("ID=x\n"), None);
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "cpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Fast CPU: 3 GHz\n";
        assert_eq!(field(text, "model name"), Some("Fast CPU: 3 GHz"));
        assert_eq!(cpu_model(text), "Fast CPU: 3 GHz");
        assert_eq!(field(text, "mode"), None);
    }
}
