//! Enumerations of what can be chosen: each value has one name.

/// An enumeration whose values have the same name on the command line, in JSON and in tables.
macro_rules! names {
    (
        $(#[$about:meta])*
        pub enum $Enum:ident {
            $($(#[$meaning:meta])* $Value:ident = $name:literal,)+
        }
    ) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $(#[$about])*
        pub enum $Enum {
            $($(#[$meaning])* #[serde(rename = $name)] $Value,)+
        }

        impl $Enum {
            /// Every value, in the order of the table.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$Value),+];

            /// The name on the command line, in JSON and in tables.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$Value => $name,)+
                }
            }
        }
    };
}
