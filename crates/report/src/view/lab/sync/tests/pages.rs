//! Whole pages.

use super::fixture::result;
use super::{ALL_ROWS, plain};
use crate::view::lab::drawn::draw;

#[test]
fn a_page_of_100_columns() {
    insta::assert_snapshot!(plain(&result(), 100));
}

#[test]
fn a_page_of_80_columns() {
    insta::assert_snapshot!(plain(&result(), 80));
}

#[test]
fn every_row() {
    insta::assert_snapshot!(draw(&result(), 100, ALL_ROWS));
}
