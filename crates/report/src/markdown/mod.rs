//! Results as Markdown (GitHub Flavored Markdown 0.29), for issues and pull requests.

pub mod compare;
pub mod lab;
mod page;
mod text;
pub mod trace;
