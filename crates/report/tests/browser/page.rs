//! A page in the browser: a reader's actions, and queries on the page.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::chromium::Chromium;

/// The form in which a page is viewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Light,
    Dark,
    Print,
}

/// Width of a desktop's, a tablet's and a phone's page, pixels.
pub(crate) const DESK: u32 = 1440;
pub(crate) const TABLET: u32 = 1024;
pub(crate) const PHONE: u32 = 390;

/// Size of the window.
fn height(width: u32) -> u32 {
    match width {
        TABLET => 768,
        PHONE => 844,
        _ => 900,
    }
}

/// An open page.
pub(crate) struct Page {
    browser: Chromium,
    // The file exists as long as the page.
    _directory: tempfile::TempDir,
    file: PathBuf,
    name: String,
}

impl Page {
    /// Opens a page; `None` where there is no browser.
    pub(crate) fn open(name: &str, html: &str) -> Option<Self> {
        let mut page = Self::empty()?;
        page.turn_to(name, html);
        Some(page)
    }

    /// Opens a page in a browser that runs no script.
    pub(crate) fn open_without_script(name: &str, html: &str) -> Option<Self> {
        let mut page = Self::empty_without_script()?;
        page.turn_to(name, html);
        Some(page)
    }

    /// An empty page.
    pub(crate) fn empty() -> Option<Self> {
        Self::with_scripts(true)
    }

    /// An empty page, without scripts.
    pub(crate) fn empty_without_script() -> Option<Self> {
        Self::with_scripts(false)
    }

    fn with_scripts(scripts: bool) -> Option<Self> {
        let mut browser = Chromium::start()?;
        let off = json!({"value": !scripts});
        browser.call("Emulation.setScriptExecutionDisabled", &off);
        let directory = tempfile::tempdir().unwrap();
        let mut page = Self {
            browser,
            file: directory.path().join("page.html"),
            _directory: directory,
            name: String::new(),
        };
        page.look(DESK, Look::Light);
        Some(page)
    }

    /// Shows another page.
    pub(crate) fn turn_to(&mut self, name: &str, html: &str) {
        std::fs::write(&self.file, html).unwrap();
        name.clone_into(&mut self.name);
        self.load();
    }

    /// Loads the page again.
    pub(crate) fn load(&mut self) {
        self.browser.forget_events();
        let url = format!("file://{}", self.file.display());
        self.browser.call("Page.navigate", &json!({"url": url}));
        self.browser.wait_for("Page.loadEventFired");
    }

    /// Views it at a width, in colours or on paper.
    pub(crate) fn look(&mut self, width: u32, look: Look) {
        let metrics = json!({
            "width": width, "height": height(width), "deviceScaleFactor": 1,
            "mobile": width == PHONE,
        });
        self.browser
            .call("Emulation.setDeviceMetricsOverride", &metrics);
        let (media, scheme) = match look {
            Look::Light => ("screen", "light"),
            Look::Dark => ("screen", "dark"),
            Look::Print => ("print", "light"),
        };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let media = json!({"media": media, "features": features});
        self.browser.call("Emulation.setEmulatedMedia", &media);
    }

    /// Opens everything that is closed.
    pub(crate) fn unfold(&mut self) {
        self.ask("document.querySelectorAll('details').forEach(one => { one.open = true; })");
    }

    /// The value of an expression.
    pub(crate) fn ask(&mut self, expression: &str) -> Value {
        let question = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let answer = self.browser.call("Runtime.evaluate", &question);
        let failed = &answer["exceptionDetails"];
        assert!(failed.is_null(), "{}: {expression}: {failed}", self.name);
        answer["result"]["value"].clone()
    }

    /// The value of an expression that is a number.
    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        let answer = self.ask(expression);
        answer
            .as_f64()
            .unwrap_or_else(|| panic!("{expression} is {answer}"))
    }

    /// Number of elements in the list of an expression.
    pub(crate) fn count(&mut self, list: &str) -> u64 {
        let answer = self.ask(&format!("{list}.length"));
        answer
            .as_u64()
            .unwrap_or_else(|| panic!("{list} is no list but {answer}"))
    }

    /// The value of an expression that is a text.
    pub(crate) fn text(&mut self, expression: &str) -> String {
        let answer = self.ask(expression);
        let text = answer.as_str().map(str::to_owned);
        text.unwrap_or_else(|| panic!("{expression} is {answer}"))
    }

    /// The centre of an element, after it was scrolled into view.
    fn middle_of(&mut self, element: &str) -> (f64, f64) {
        let place = self.ask(&format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{block: 'center', behavior: 'instant'}}); \
             const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        ));
        let at = |index: usize| place[index].as_f64().expect("the element is shown");
        (at(0), at(1))
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1});
        self.browser.call("Input.dispatchMouseEvent", &event);
    }

    /// Clicks the centre of a script expression's element.
    pub(crate) fn click(&mut self, element: &str) {
        let place = self.middle_of(element);
        self.mouse("mousePressed", place);
        self.mouse("mouseReleased", place);
    }

    /// Moves the pointer over an element.
    pub(crate) fn point_at(&mut self, element: &str) {
        let place = self.middle_of(element);
        self.mouse("mouseMoved", place);
    }

    /// Drags the mouse over an element, from one share of its width to another.
    pub(crate) fn drag(&mut self, element: &str, from: f64, to: f64) {
        let (middle, y) = self.middle_of(element);
        let width = self.number(&format!("{element}.getBoundingClientRect().width"));
        let at = |share: f64| (middle + (share - 0.5) * width, y);
        self.mouse("mouseMoved", at(from));
        self.mouse("mousePressed", at(from));
        let event = json!({
            "type": "mouseMoved", "x": at(to).0, "y": y, "button": "left", "buttons": 1,
        });
        self.browser.call("Input.dispatchMouseEvent", &event);
        self.mouse("mouseReleased", at(to));
    }

    /// Presses a key: a name of the DOM such as `Tab`, or a letter.
    pub(crate) fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            " " => 32,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            _ => 0,
        };
        let text = match key {
            "Enter" => "\r",
            letter if letter.chars().count() == 1 => letter,
            _ => "",
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({
                "type": kind, "key": key, "windowsVirtualKeyCode": code, "text": text,
            });
            self.browser.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Types a text into the focused element.
    pub(crate) fn write(&mut self, text: &str) {
        self.browser
            .call("Input.insertText", &json!({"text": text}));
    }

    /// Errors on it so far.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.browser.complaints()
    }

    /// Asserts that there were no errors.
    pub(crate) fn is_quiet(&mut self) {
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "{}: {complaints:#?}", self.name);
    }

    /// Saves a screenshot of the whole page in `IOSTRATA_SCREENSHOTS`, for people.
    pub(crate) fn picture(&mut self, what: &str) {
        let Some(directory) = std::env::var_os("IOSTRATA_SCREENSHOTS") else {
            return;
        };
        // Taller screenshots cannot be viewed.
        let height = self.number("Math.min(document.documentElement.scrollHeight, 9000)");
        let width = self.number("innerWidth");
        let whole = json!({
            "captureBeyondViewport": true, "format": "png",
            "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
        });
        let picture = self.browser.call("Page.captureScreenshot", &whole);
        let file = PathBuf::from(directory).join(format!("{}-{what}.png", self.name));
        std::fs::write(
            file,
            STANDARD.decode(picture["data"].as_str().unwrap()).unwrap(),
        )
        .unwrap();
    }

    /// Number of its pages on paper.
    pub(crate) fn printed_pages(&mut self) -> usize {
        let printed = self
            .browser
            .call("Page.printToPDF", &json!({"printBackground": false}));
        let file = STANDARD.decode(printed["data"].as_str().unwrap()).unwrap();
        if let Some(directory) = std::env::var_os("IOSTRATA_SCREENSHOTS") {
            let path = PathBuf::from(directory).join(format!("{}.pdf", self.name));
            std::fs::write(path, &file).unwrap();
        }
        let text = String::from_utf8_lossy(&file);
        text.matches("/Type /Page\n").count() + text.matches("/Type /Page/").count()
    }
}
