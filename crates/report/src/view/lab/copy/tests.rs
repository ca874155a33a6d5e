use super::fixture::{copying, result};
use crate::view::lab::drawn::draw;
use crate::view::lab::drawn::{ALL_ROWS, assert_lines_fit, plain};

#[test]
fn the_page() {
    insta::assert_snapshot!(plain(&result(), 100));
}

#[test]
fn the_page_with_every_call() {
    insta::assert_snapshot!(draw(&result(), 80, ALL_ROWS));
}

#[test]
fn lines_fit_and_end_in_a_letter() {
    let mut many = result();
    let experiment = copying(&mut many);
    experiment.rows = [experiment.rows.as_slice(); 25].concat();
    assert_lines_fit(&[result(), many]);
}

#[test]
fn many_rows_of_a_further_file_system_wait_for_the_flag() {
    let mut result = result();
    let experiment = copying(&mut result);
    let mut of_image = experiment.rows[0].clone();
    of_image.row.target = "xfs".to_owned();
    experiment.rows.extend(vec![of_image; 9]);
    let text = plain(&result, 100);
    assert!(
        text.contains("not shown: 9 more rows; --all-rows"),
        "{text}"
    );
    assert!(text.contains("reflink"), "{text}");
    assert!(!draw(&result, 100, ALL_ROWS).contains("not shown:"));
}

#[test]
fn an_interrupted_run_and_lost_events_come_first() {
    let mut result = result();
    let experiment = copying(&mut result);
    experiment.method.interrupted = true;
    experiment.method.planned_rows = 21;
    experiment.rows[0].row.evidence.lost_events = 7;
    let text = plain(&result, 100);
    let lines: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(lines[1], "interrupted: 6 of 21 rows");
    assert!(
        lines[2].starts_with("7 events lost: counts of row 1"),
        "{text}"
    );
}
