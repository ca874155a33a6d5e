//! Options of `iostrata completions` and `iostrata man`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS)]
pub(crate) struct Completions {
    /// Shell to generate completions for
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

const COMPLETIONS: &str = "\
Examples:
  source <(iostrata completions bash)
  iostrata completions bash > ~/.local/share/bash-completion/completions/iostrata
  iostrata completions zsh > ~/.zfunc/_iostrata       (with fpath+=~/.zfunc before compinit)
  iostrata completions fish > ~/.config/fish/completions/iostrata.fish";

#[derive(Debug, Args)]
#[command(after_help = MAN)]
pub(crate) struct ManPages {
    /// Directory for the pages of all commands; without one, print the page of iostrata
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

const MAN: &str = "\
Examples:
  iostrata man | man -l -
  iostrata man ~/.local/share/man/man1";
