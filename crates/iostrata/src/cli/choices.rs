//! What the options of several experiments need.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// One of `all`, by the name that it has in JSON and in tables, each with its meaning.
pub(in crate::cli) fn one_of<T, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
    meaning: Option<fn(T) -> &'static str>,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let values = all.map(|one| {
        let value = PossibleValue::new(name(one));
        match meaning {
            Some(meaning) => value.help(meaning(one)),
            None => value,
        }
    });
    PossibleValuesParser::new(values).try_map(move |given| {
        let known = all.into_iter().find(|one| name(*one) == given);
        known.ok_or("no such value")
    })
}

/// The names of what was given.
pub(in crate::cli) fn names(given: &[(&'static str, bool)]) -> Vec<&'static str> {
    let given = given.iter().filter(|(_, given)| *given);
    given.map(|(name, _)| *name).collect()
}
