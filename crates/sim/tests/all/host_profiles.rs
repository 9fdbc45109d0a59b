//! Host profiles: what is shipped is whole, and what cannot be is refused by name, with what to do.

use sim::application::Application;
use sim::machine;
use sim::profile::profile_file::{ProfileFile, Value};
use sim::profile::{HostProfile, Library};
use sim::{solaris, sunos};

fn library() -> Library {
    Library::shipped().expect("the shipped hosts are whole")
}

fn refusal_of(profile: &HostProfile) -> String {
    sunos::profile::read(profile, 8192).expect_err("this cannot be").to_string()
}

fn sparc2() -> HostProfile {
    library().resolve("sparc2+sba-100@2.2.6").expect("shipped")
}

#[test]
fn every_shipped_host_and_set_can_be_read() {
    let library = library();
    for expression in library.expressions() {
        let profile = library.resolve(&expression).expect("its parts are there");
        let reader = Application::Reader { call_bytes: 4096, left_bytes: 4096 };
        machine::build(&profile, 4096, reader, 1).unwrap_or_else(|refusal| panic!("{refusal}"));
        if profile.system == "sunos-4.1" {
            sunos::profile::read(&profile, 4096).unwrap_or_else(|refusal| panic!("{refusal}"));
            for set in 0..library.sets_count(&profile.system) {
                let profile = library.resolve_set(&expression, set).expect("the set is there");
                sunos::profile::read(&profile, 4096).unwrap_or_else(|refusal| panic!("set {set}: {refusal}"));
            }
        }
    }
    assert!(library.expressions().contains(&"sparc10+sba-200@2.2.6".to_owned()));
}

#[test]
fn whyperf_list_names_every_shipped_host_and_no_other() {
    let lists = include_str!("../../../../python/whyperf/cli/output/lists.json");
    let (_, hosts) = lists.split_once("\"hosts\": [").expect("the list of hosts is the last");
    let mut listed: Vec<_> = hosts.lines().filter_map(|line| line.trim().strip_prefix("\"name\": \"")).collect();
    let expressions = library().expressions();
    let mut expected: Vec<_> = expressions.iter().map(|expression| format!("{expression}\",")).collect();
    listed.sort_unstable();
    expected.sort();
    assert_eq!(listed, expected);
}

#[test]
fn a_driver_may_be_left_out_where_there_is_one() {
    let short = library().resolve("sparc10+sba-200").expect("one driver");
    assert_eq!(short.values, library().resolve("sparc10+sba-200@2.2.6").expect("named").values);
}

#[test]
fn an_adapter_has_what_its_base_has_and_it_does_not_give_itself() {
    let library = library();
    let (base, own) = ("sparc10+sba-200", "sparc10+sba-200-aal34");
    for set in 0..library.sets_count("sunos-4.1") {
        let [mut base, mut own] = [base, own].map(|host| library.resolve_set(host, set).expect("the set is there").values);
        assert_eq!(own.remove("aal").map(|entry| entry.value), Some(Value::Word("aal3/4".to_owned())));
        assert_ne!(own.remove("board_receive_cell_us"), base.remove("board_receive_cell_us"));
        base.remove("aal");
        assert_eq!(own, base, "set {set}");
    }
}

#[test]
fn an_adapter_of_a_users_own_has_what_the_bases_of_its_base_have() {
    let mut library = library();
    let of = |name: &str, base: &str| {
        let text = format!(
            "part = 'adapter'\nname = '{name}'\nbase = '{base}'\nabout = ''\nsystems = ['sunos-4.1']\n\
             [values]\nboard_receive_cell_us = {{ value = 5, source = 'what if' }}"
        );
        ProfileFile::read("mine.toml", &text).expect("an adapter")
    };
    library.add(of("mine", "sba-200-aal34")).expect("its base is there");
    for set in [0, 1] {
        let [mut shipped, mut mine] =
            ["sba-200-aal34", "mine"].map(|name| library.resolve_set(&format!("sparc10+{name}"), set).expect("there").values);
        assert_ne!(shipped.remove("board_receive_cell_us"), mine.remove("board_receive_cell_us"));
        assert_eq!(shipped, mine, "set {set}");
    }
    let refusal = library.add(of("other", "sba-300")).expect_err("there is no such base").to_string();
    assert_eq!(refusal, "there is no adapter 'sba-300'; known: sba-100, sba-200, sba-200-aal34, gigabit, veth, nic, mine");
}

#[test]
fn a_host_has_no_more_processors_than_the_model_keeps() {
    let mut profile = library().resolve("solaris8+gigabit").expect("shipped");
    for (processors, is_refused) in [(256.0, false), (257.0, true), (4e9, true)] {
        profile.set_number("processors", processors).expect("a number");
        let refusal = solaris::profile::read(&profile, 8192).err().map(|refusal| refusal.to_string());
        assert_eq!(refusal.is_some(), is_refused, "{refusal:?}");
        assert!(refusal.is_none_or(|refusal| refusal.contains(&format!("'processors' is {processors}, and the model has 256 at most"))));
    }
}

#[test]
fn hosts_that_cannot_be_are_refused() {
    for (expression, expected) in [
        ("sparc2", "names no adapter"),
        ("sparc3+sba-100", "known: sparc2, sparc10"),
        ("sparc2+sba-300", "known: sba-100, sba-200, sba-200-aal34"),
        ("sparc2+sba-100", "2.0, 2.2.6; name one, as in sparc2+sba-100@DRIVER"),
        ("sparc2+sba-100@3", "known: 2.0, 2.2.6"),
        ("sparc2+sba-200", "0 drivers for sparc2"),
    ] {
        let refusal = library().resolve(expression).expect_err(expression).to_string();
        assert!(refusal.contains(expected), "{expression}: {refusal}");
    }
    let mut library = library();
    let text = "part = 'machine'\nname = 'pdp11'\nabout = ''\nsystem = '2.9bsd'\n[values]";
    library.add(ProfileFile::read("pdp11.toml", text).expect("a machine")).expect("it has no base");
    let refusal = library.resolve("pdp11+sba-100@2.0").expect_err("another system").to_string();
    assert_eq!(refusal, "pdp11 cannot have sba-100: that adapter is for sunos-4.1, and pdp11 runs 2.9bsd");
}

#[test]
fn values_that_cannot_be_are_refused_by_name() {
    for (key, value, expected) in [
        ("copy_in_us", Value::Number(-1.0), "cannot be -1; it is a number that is not negative"),
        ("copy_in_us", Value::Number(1e4), "plausible is 2.5 to 50"),
        ("copy_limit_bytes", Value::Number(0.5), "a whole number"),
        ("copy_limit_bytes", Value::Number(0.0), "of 0 bytes lets nothing through"),
        ("nagle", Value::Word("sometimes".to_owned()), "one of off, below-segment, below-half-window"),
        ("slow_start", Value::Number(1.0), "one of never, after-loss, always"),
        ("keeps_out_of_order", Value::Number(1.0), "true or false"),
        ("update_percent", Value::Switch(true), "a number"),
    ] {
        let mut profile = sparc2();
        profile.set(key, value).expect("the key is there");
        let refusal = refusal_of(&profile);
        assert!(refusal.contains(key) && refusal.contains(expected), "{refusal}");
    }
    let mut profile = sparc2();
    let entry = profile.values["nagle"].clone();
    profile.values.insert("window_scaling".to_owned(), entry);
    assert!(refusal_of(&profile).contains("'window_scaling' is no rule or number of sunos-4.1"));
    let mut profile = sparc2();
    profile.values.remove("nagle");
    assert!(refusal_of(&profile).contains("'nagle' is missing"));
    let mut profile = sparc2();
    profile.values.get_mut("nagle").expect("there").source.clear();
    assert!(refusal_of(&profile).contains("'nagle' has no source"));
    let refusal = sunos::profile::read(&sparc2(), 0).expect_err("no window").to_string();
    assert!(refusal.contains("a window of 0 bytes"), "{refusal}");
}

#[test]
fn a_host_of_a_users_own_is_one_that_exists_with_other_values() {
    let text = "part = 'host'\nbase = 'sparc2+sba-100@2.2.6'\nabout = 'what if'\n\
                [values]\ncopy_limit_bytes = { value = 8192, source = 'what if' }";
    let profile = library().resolve_user("mine.toml", text).expect("a host");
    let (spec, _) = sunos::profile::read(&profile, 8192).expect("it can be");
    assert_eq!(spec.rules.copy_limit_bytes, 8192);
    let unknown = text.replace("copy_limit_bytes", "copy_limit");
    let profile = library().resolve_user("mine.toml", &unknown).expect("keys are the system's matter");
    assert!(refusal_of(&profile).contains("'copy_limit' is no rule"));
}

#[test]
fn a_users_host_that_is_not_whole_is_refused_with_what_to_write() {
    let whole = "part = 'host'\nbase = 'sparc2+sba-100@2.2.6'\nabout = 'mine'\n[values]\n";
    for (text, expected) in [
        (format!("{whole}copy_in_us = 30"), "write copy_in_us = { value = 30, source = "),
        (format!("{whole}copy_in_us = {{ source = 'mine' }}"), "copy_in_us has no value"),
        (format!("{whole}copy_in_us = {{ value = [30], source = 'mine' }}"), "a number, true, false or a word"),
        (format!("{whole}copy_in_us = {{ value = 30, from = 'mine' }}"), "the unknown key 'from'"),
        (whole.replace("about = 'mine'\n", ""), "about is missing"),
        (whole.replace("base", "of"), "base is missing"),
        (whole.replace("[values]", ""), "[values] is missing"),
        (whole.replace("'host'", "'guest'"), "part = \"host\""),
        ("part = 'host'\nbase = 1".to_owned(), "base is missing"),
        ("part = 'host'\nbase".to_owned(), "line 2"),
    ] {
        let refusal = library().resolve_user("mine.toml", &text).expect_err(expected).to_string();
        assert!(refusal.starts_with("mine.toml: ") && refusal.contains(expected) && !refusal.contains('\n'), "{refusal}");
    }
}

#[test]
fn the_documented_host_of_a_users_own_can_be() {
    let page = include_str!("../../../../docs/how-to/simulate.md");
    let (_, rest) = page.split_once("```toml\n").expect("an example");
    let (text, _) = rest.split_once("```").expect("its end");
    let profile = library().resolve_user("my-host.toml", text).expect("a host");
    let reader = Application::Reader { call_bytes: 4096, left_bytes: 4096 };
    machine::build(&profile, 4096, reader, 1).unwrap_or_else(|refusal| panic!("{refusal}"));
    let shipped = library().resolve("sparc2+sba-100@2.2.6").expect("shipped");
    assert!(profile.values.iter().any(|(key, entry)| shipped.values[key].value != entry.value));
}
