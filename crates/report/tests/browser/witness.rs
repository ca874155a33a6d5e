//! The browser reports errors: without this, the silence of the other tests means nothing.

use crate::page::Page;

#[test]
fn what_goes_wrong_is_reported() {
    let html = "<!DOCTYPE html><html lang=en><meta charset=utf-8>\
        <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; script-src \
        'sha256-yPSCrdRC66N2C+lAVFD5QhcM/Q2lzmCK7g1TCXhyeo8='\"><title>t</title>\
        <p style='color: red'>inline</p><script>document.title = 'foreign';</script>\
        <img src='https://example.invalid/a.png' alt=''>";
    let Some(mut page) = Page::open("witness", html) else {
        return;
    };
    let complaints = page.complaints().join("\n");
    assert_eq!(page.text("document.title"), "t", "the policy holds");
    assert!(complaints.contains("inline style"), "{complaints}");
    assert!(complaints.contains("inline script"), "{complaints}");
    assert!(complaints.contains("example.invalid"), "{complaints}");
    page.ask("console.error('from the page')");
    let complaints = page.complaints().join("\n");
    assert!(complaints.contains("from the page"), "{complaints}");
    page.ask("void setTimeout(() => { throw new Error('thrown later'); })");
    page.ask("new Promise(done => setTimeout(done, 10))");
    let complaints = page.complaints().join("\n");
    assert!(complaints.contains("thrown later"), "{complaints}");
    assert!(page.complaints().is_empty(), "each is reported once");
}

#[test]
fn a_page_without_script_runs_none() {
    let html = "<!DOCTYPE html><title>t</title><script>document.title = 'ran';</script>";
    let Some(mut page) = Page::open_without_script("witness", html) else {
        return;
    };
    // Queries still reach the page; its own scripts did not run.
    assert_eq!(page.text("document.title"), "t");
    page.is_quiet();
}
