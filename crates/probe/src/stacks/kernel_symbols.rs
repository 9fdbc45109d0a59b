//! Names of the kernel's functions, modules and BPF programs, from `/proc/kallsyms`.

use std::fs;

/// The text of kallsyms in the order of the addresses.
#[derive(Debug, Default)]
pub struct KernelSymbols {
    /// Address, and place in `names`.
    symbols: Vec<(u64, u32, u32)>,
    text: String,
}

/// A function of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelSymbol<'a> {
    /// Its name.
    pub name: &'a str,
    /// The module that has it; `bpf` of a BPF program; empty of the kernel itself.
    pub module: &'a str,
}

impl KernelSymbols {
    /// Those of the running kernel.
    ///
    /// # Errors
    /// Why there are none, in a sentence.
    pub fn read() -> Result<Self, String> {
        let text = fs::read_to_string("/proc/kallsyms").map_err(|error| format!("/proc/kallsyms cannot be read: {error}"))?;
        Self::parse(text)
    }

    fn parse(text: String) -> Result<Self, String> {
        let mut symbols = Vec::with_capacity(text.len() / 40);
        for line in text.lines() {
            let mut fields = line.splitn(3, ' ');
            let (Some(address), Some(kind), Some(named)) = (fields.next(), fields.next(), fields.next()) else { continue };
            // Of functions, which also may be weak; not of data.
            if !matches!(kind, "t" | "T" | "w" | "W") {
                continue;
            }
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            let at = named.as_ptr() as usize - text.as_ptr() as usize;
            let (Ok(at), Ok(length)) = (u32::try_from(at), u32::try_from(named.len())) else { continue };
            symbols.push((address, at, length));
        }
        if symbols.iter().all(|(address, ..)| *address == 0) {
            return Err(
                "the kernel hides the addresses of its functions; run as root, or with CAP_SYSLOG and kernel.kptr_restrict below 2"
                    .to_owned(),
            );
        }
        // Several names of one address: the first one stays.
        symbols.sort_by_key(|(address, ..)| *address);
        symbols.dedup_by_key(|(address, ..)| *address);
        Ok(Self { symbols, text })
    }

    /// The function that an address is in: the last one that begins at it or before. The kernel lists no lengths.
    pub fn find(&self, address: u64) -> Option<KernelSymbol<'_>> {
        let after = self.symbols.partition_point(|(start, ..)| *start <= address);
        let (_, at, length) = self.symbols.get(after.checked_sub(1)?)?;
        let named = self.text.get(*at as usize..(*at + *length) as usize)?;
        let (name, module) = named.split_once('\t').unwrap_or((named, ""));
        Some(KernelSymbol { name, module: module.trim_matches(['[', ']']) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "ffffffff81000000 T _text\nffffffff81000100 t tcp_sendmsg\nffffffff81000100 t alias_of_it\n\
        ffffffff81000180 D some_data\nffffffffc0000000 t nft_do_chain\t[nf_tables]\nffffffffc0100000 t bpf_prog_6deef7357e7b4530_out\t[bpf]\n";

    #[test]
    fn an_address_is_in_the_last_function_before_it() {
        let symbols = KernelSymbols::parse(TEXT.to_owned()).expect("addresses are there");
        assert_eq!(symbols.find(0xffff_ffff_8100_01ff), Some(KernelSymbol { name: "tcp_sendmsg", module: "" }));
        assert_eq!(symbols.find(0xffff_ffff_8100_00ff), Some(KernelSymbol { name: "_text", module: "" }));
        assert_eq!(symbols.find(0xffff_ffff_c000_0004), Some(KernelSymbol { name: "nft_do_chain", module: "nf_tables" }));
        assert_eq!(symbols.find(0xffff_ffff_c010_0004), Some(KernelSymbol { name: "bpf_prog_6deef7357e7b4530_out", module: "bpf" }));
        assert_eq!(symbols.find(0x1000), None);
    }

    #[test]
    fn hidden_addresses_are_said() {
        let hidden: Vec<_> = TEXT.lines().map(|line| format!("0000000000000000{}", &line[16..])).collect();
        assert!(KernelSymbols::parse(hidden.join("\n")).is_err_and(|reason| reason.contains("kptr_restrict")));
    }
}
