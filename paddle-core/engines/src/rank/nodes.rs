//! Slurm's short form for lists of hosts: `gpu[01-03,07],login`.

/// The first host of a list, or `None` if the list is malformed.
///
/// The first task of a step runs there under each distribution but `arbitrary`.
pub(super) fn first_host(list: &str) -> Option<String> {
    let (mut host, mut rest) = (String::new(), list);
    loop {
        match rest.find(['[', ']', ',']) {
            None => {
                host.push_str(rest);
                break;
            }
            Some(at) => {
                host.push_str(&rest[..at]);
                match &rest[at..=at] {
                    // The comma between two hosts: the first has ended.
                    "," => break,
                    "]" => return None,
                    _ => {
                        let (numbers, behind) = rest[at + 1..].split_once(']')?;
                        host.push_str(first_number(numbers)?);
                        rest = behind;
                    }
                }
            }
        }
    }
    let is_host = !host.is_empty() && !host.contains(char::is_whitespace);
    is_host.then_some(host)
}

/// The first number of `01-03,07`, with its zeros: they belong to the name.
fn first_number(numbers: &str) -> Option<&str> {
    let ranges = numbers.split(',').map(|range| {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        (is_number(low) && is_number(high)).then_some(low)
    });
    // A list that is broken further on is not trusted at its beginning, either.
    ranges.collect::<Option<Vec<_>>>()?.first().copied()
}

#[cfg(test)]
mod tests {
    use super::first_host;

    #[test]
    fn the_first_host_of_each_form_is_found() {
        let cases = [
            ("login", Some("login")),
            ("login,gpu1", Some("login")),
            ("gpu[01-03,07],login", Some("gpu01")),
            ("gpu[7,1-3]", Some("gpu7")),
            ("rack[2-3]node[004-008]", Some("rack2node004")),
            ("gpu[1-2]-ib0.site", Some("gpu1-ib0.site")),
            ("10.0.0.[7-9]", Some("10.0.0.7")),
            ("", None),
            (",gpu1", None),
            ("gpu[", None),
            ("gpu[1-", None),
            ("gpu[]", None),
            ("gpu[a-b]", None),
            ("gpu[1-2,x]", None),
            ("gpu]1[", None),
            ("two words", None),
        ];
        for (list, host) in cases {
            assert_eq!(first_host(list).as_deref(), host, "{list}");
        }
    }
}
