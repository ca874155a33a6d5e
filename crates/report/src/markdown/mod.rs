//! Results as Markdown (GitHub Flavored Markdown 0.29), for pull requests.

pub mod compare;
mod text;
